"""A browser without a window, for pages from disk. Its profile is new each time, and nothing is fetched."""

import contextlib
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-dev-shm-usage", "--hide-scrollbars"]


class Page:
    """What tests do with a page: find, click, type, ask."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, anchor=""):
        self.driver.get("about:blank")
        self.driver.get(path.resolve().as_uri() + anchor)

    def resize(self, width, height=900):
        """The page's own size: a window has a smallest one."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def prefer(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector, timeout=20):
        """The first visible element, as soon as it is there."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = [element for element in self.all(selector) if element.is_displayed()]
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"nothing on the page is {selector}")

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def focused(self):
        return self.driver.switch_to.active_element

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        self.driver.save_screenshot(str(path))


@contextlib.contextmanager
def browser(width=1280, height=900):
    with tempfile.TemporaryDirectory(prefix="fabricbench-browser-", ignore_cleanup_errors=True) as profile:
        options = Options()
        for flag in [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        try:
            yield Page(driver)
        finally:
            driver.quit()
