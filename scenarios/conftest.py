pytest_plugins = ("fabricbench.pytest_plugin",)
