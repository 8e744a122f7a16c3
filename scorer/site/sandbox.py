"""The sandbox of templates that are not shipped: those of an organiser, which an imported bundle may contain, too."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

VALUES = (str, bytes, int, float, list, tuple, dict, frozenset, datetime)
"""Types whose methods a template may call."""

MODULES = (
    "jinja2",
    "scorer.analysis",
    "scorer.board",
    "scorer.challenge",
    "scorer.charts",
    "scorer.live",
    "scorer.measures",
    "scorer.reports",
    "scorer.site",
    "scorer.store",
)
"""Where functions are defined that a template may call: macros, and what the context of a page offers."""


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment whose templates read the values of their context, but no file, no network and no other object."""

    def is_safe_callable(self, called: Any) -> bool:
        """Whether a template may call this."""
        if not super().is_safe_callable(called):
            return False
        method = getattr(called, "__wrapped__", called)  # Jinja wraps the methods that format text
        if isinstance(getattr(method, "__self__", None), VALUES):
            return True
        module = getattr(called, "__module__", None) or type(called).__module__
        return any(module == name or module.startswith(f"{name}.") for name in MODULES)
