#include "cli/control/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace fb::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::HasSubstr;

/// A server with one method for each type of parameter.
struct Server {
  Rpc rpc{"test"};
  int calls = 0;

  Server() {
    using Type = RpcParameter::Type;
    rpc.add({"take",
             "Takes everything",
             {{.name = "text"},
              {.name = "word", .words = {"red", "green"}},
              {.name = "number", .type = Type::number, .low = 2, .high = 9},
              {.name = "flag", .type = Type::flag},
              {.name = "size", .type = Type::size, .low = 1},
              {.name = "time", .type = Type::duration},
              {.name = "texts", .type = Type::texts}},
             [this](const RpcArguments& arguments) {
               ++calls;
               return ordered_json{
                   {"text", arguments.text("text", "none")},  {"word", arguments.text("word", "none")},
                   {"number", arguments.number("number", 7)}, {"flag", arguments.flag("flag", true)},
                   {"size", arguments.size("size", 5)},       {"ms", arguments.duration("time", Duration::ms(3)).count_ms()},
                   {"texts", arguments.texts("texts")}};
             }});
    rpc.add({"need", "Needs one", {{.name = "it", .description = "the thing", .required = true}}, [this](const RpcArguments& arguments) {
               ++calls;
               return ordered_json(arguments.text("it"));
             }});
    rpc.add({"refuse", "Never works", {}, [](const RpcArguments&) -> ordered_json { throw UserError("not today"); }});
  }

  json ask(const std::string& line) const { return json::parse(rpc.answer(line)); }
  json call(const std::string& method, const json& parameters) const {
    return ask(json{{"jsonrpc", "2.0"}, {"id", 4}, {"method", method}, {"params", parameters}}.dump());
  }
};

TEST(Rpc, GivesWhatAMethodMakes) {
  const Server server;
  const json answer = server.call(
      "take", {{"text", "a"}, {"word", "green"}, {"number", 9}, {"flag", false}, {"size", "4K"}, {"time", "2s"}, {"texts", {"x", "y"}}});
  EXPECT_EQ(answer["id"], 4);
  EXPECT_EQ(answer["jsonrpc"], "2.0");
  EXPECT_EQ(answer["result"],
            json({{"text", "a"}, {"word", "green"}, {"number", 9}, {"flag", false}, {"size", 4096}, {"ms", 2000}, {"texts", {"x", "y"}}}));
}

TEST(Rpc, LeavesOutWhatIsNotGiven) {
  const json result = Server().call("take", json::object())["result"];
  EXPECT_EQ(result,
            json({{"text", "none"}, {"word", "none"}, {"number", 7}, {"flag", true}, {"size", 5}, {"ms", 3}, {"texts", json::array()}}));
}

TEST(Rpc, TakesParametersByPosition) {
  EXPECT_EQ(Server().call("need", json::array({"that"}))["result"], "that");
  EXPECT_EQ(Server().call("need", json::array({"that", "more"}))["error"]["code"], RpcError::kInvalidParameters);
}

TEST(Rpc, OneTextIsAListOfOne) { EXPECT_EQ(Server().call("take", {{"texts", "alone"}})["result"]["texts"], json::array({"alone"})); }

TEST(Rpc, RefusesWrongParametersBeforeTheCall) {
  const Server server;
  const std::pair<json, const char*> wrong[] = {
      {{{"text", 1}}, "text: 1 is not a string"},
      {{{"word", "gren"}}, "did you mean 'green'"},
      {{{"number", 1}}, "number: 1 is not an integer from 2 to 9"},
      {{{"number", 10}}, "from 2 to 9"},
      {{{"number", -3}}, "from 2 to 9"},
      {{{"number", 2.5}}, "from 2 to 9"},
      {{{"number", "3"}}, "from 2 to 9"},
      {{{"flag", 1}}, "neither true nor false"},
      {{{"size", "4X"}}, "size: '4X' is no size"},
      {{{"size", 0}}, "size: 0 is not"},
      {{{"time", 5}}, "is not a time such as"},
      {{{"time", "5 s"}}, "is not a time such as"},
      {{{"time", "99999999999s"}}, "is not a time such as"},
      {{{"texts", {"a", 2}}}, "texts: 2 is not a string"},
      {{{"numbr", 3}}, "no parameter 'numbr'; did you mean 'number'?"},
  };
  for (const auto& [parameters, words] : wrong) {
    const json answer = server.call("take", parameters);
    EXPECT_EQ(answer["error"]["code"], RpcError::kInvalidParameters) << parameters;
    EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr(words));
  }
  const json missing = server.call("need", json::object());
  EXPECT_EQ(missing["error"]["message"], "it: is missing: the thing");
  EXPECT_EQ(server.calls, 0);
}

TEST(Rpc, AnswersWhatIsNoRequest) {
  const Server server;
  const std::pair<const char*, int> wrong[] = {
      {"", RpcError::kParse},
      {"{", RpcError::kParse},
      {"\xff\xfe", RpcError::kParse},
      {"7", RpcError::kInvalidRequest},
      {"[]", RpcError::kInvalidRequest},
      {R"({"id":1,"method":"take"})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"1.0","id":1,"method":"take"})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":5})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":{},"method":"take"})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"take","params":3})", RpcError::kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"tak"})", RpcError::kNoMethod},
      {R"({"jsonrpc":"2.0","id":1,"method":"refuse"})", RpcError::kFailed},
  };
  for (const auto& [line, code] : wrong) EXPECT_EQ(server.ask(line)["error"]["code"], code) << line;
  EXPECT_THAT(server.ask(R"({"jsonrpc":"2.0","id":1,"method":"tak"})")["error"]["message"].get<std::string>(),
              HasSubstr("did you mean 'take'"));
  EXPECT_EQ(server.ask(R"({"jsonrpc":"2.0","id":1,"method":"refuse"})")["error"]["message"], "not today");
  EXPECT_EQ(server.calls, 0);
}

TEST(Rpc, ANotificationIsDoneAndNotAnswered) {
  const Server server;
  EXPECT_EQ(server.rpc.answer(R"({"jsonrpc":"2.0","method":"take"})"), "");
  EXPECT_EQ(server.calls, 1);
  EXPECT_EQ(server.rpc.answer(R"({"jsonrpc":"2.0","method":"nobody"})"), "");
}

TEST(Rpc, ABatchIsAnsweredInOneLine) {
  const Server server;
  const json answer = server.ask(
      R"([{"jsonrpc":"2.0","id":"a","method":"need","params":["x"]},{"jsonrpc":"2.0","method":"take"},3,{"jsonrpc":"2.0","id":null,"method":"refuse"}])");
  ASSERT_EQ(answer.size(), 3u);
  EXPECT_EQ(answer[0], json({{"jsonrpc", "2.0"}, {"id", "a"}, {"result", "x"}}));
  EXPECT_EQ(answer[1]["error"]["code"], RpcError::kInvalidRequest);
  EXPECT_EQ(answer[2]["error"]["code"], RpcError::kFailed);
  EXPECT_EQ(server.calls, 2);
  EXPECT_EQ(server.rpc.answer(R"([{"jsonrpc":"2.0","method":"take"}])"), "");
}

TEST(Rpc, DescribesEveryMethod) {
  const json described = Server().call("rpc.discover", json::object())["result"];
  ASSERT_EQ(described["methods"].size(), 4u);
  const json& take = described["methods"][1];
  EXPECT_EQ(take["name"], "take");
  ASSERT_EQ(take["params"].size(), 7u);
  EXPECT_EQ(take["params"][1]["schema"], json({{"type", "string"}, {"enum", {"red", "green"}}}));
  EXPECT_EQ(take["params"][2]["schema"], json({{"type", "integer"}, {"minimum", 2}, {"maximum", 9}}));
  EXPECT_EQ(described["methods"][2]["params"][0]["required"], true);
}

}  // namespace
}  // namespace fb::cli
