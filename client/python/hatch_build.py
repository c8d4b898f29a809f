# SPDX-License-Identifier: Apache-2.0
"""What hatchling does beside packing files: the version, and the generated modules."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import generate

ORIGIN = "src/kernrig/_origin.py"
GENERATED = ("src/kernrig/_proto", "src/kernrig/_status.py", ORIGIN)


class KernrigMetadataHook(MetadataHookInterface):
    """The version is that of the checkout, or of the sdist that was made in one."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        metadata["version"] = generate.version()


class KernrigBuildHook(BuildHookInterface):
    """Generates before anything is packed; git ignores these files, so they are named here."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling."""
        generated = list(GENERATED)
        if generate.is_checkout():
            generate.make_all()
            if self.target_name == "sdist":
                # It goes to other machines, where this checkout is not.
                generated.remove(ORIGIN)
                self._folder = tempfile.TemporaryDirectory()
                origin = Path(self._folder.name, "_origin.py")
                origin.write_text(generate.origin(""), encoding="utf-8")
                build_data["force_include"][str(origin)] = ORIGIN
                build_data["force_include"][str(generate.CHECKOUT / "VERSION")] = "VERSION"
        build_data["artifacts"] += generated

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling."""
        if self._folder is not None:
            self._folder.cleanup()
