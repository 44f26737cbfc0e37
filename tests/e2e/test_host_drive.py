"""`fabricbench host drive` where there is nothing to drive: the bench hears why, and the user sees it in one line."""
import json


def test_says_what_is_missing(fabricbench):
    hello = {"id": 7, "do": "hello", "transport": "tcp", "traddr": "192.0.2.8", "trsvcid": 4420, "subnqn": "nqn.2026-11.org.example:any"}
    result = fabricbench("host", "drive", input=json.dumps(hello) + "\n", env={"PATH": "/nowhere"})
    assert result.code == 2
    answer = json.loads(result.out)
    assert answer["id"] == 7 and answer["ok"] is False and answer["text"]
    assert result.err == f"fabricbench host drive: {answer['text']}\n"


def test_ends_with_its_input(fabricbench):
    result = fabricbench("host", "drive", input="", env={"PATH": "/nowhere"})
    assert result.code == 0 and result.out == ""
