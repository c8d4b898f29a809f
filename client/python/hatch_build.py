# SPDX-License-Identifier: Apache-2.0
"""What hatchling does beside packing files: the version, and the generated modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import generate

GENERATED = ("src/kernrig/_proto", "src/kernrig/_status.py", "src/kernrig/_origin.py")


class KernrigMetadataHook(MetadataHookInterface):
    """The version is that of the checkout, or of the sdist that was made in one."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        metadata["version"] = generate.version()


class KernrigBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # its parameter is hatchling's
    """Generates before anything is packed; git ignores these files, so they are named here."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling."""
        if generate.is_checkout():
            generate.make_all()
        build_data["artifacts"] += list(GENERATED)
