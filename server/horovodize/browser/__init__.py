"""The engine for the page that shows it in a browser (website/try): what that shows of a script, as JSON."""

from horovodize.browser.opening import opened
from horovodize.browser.script import Script

__all__ = ["Script", "opened"]
