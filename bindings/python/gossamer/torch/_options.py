"""Options of a process group."""

from typing import Any

from .._world import SETTINGS


class Options:
    """``pg_options`` of a group: the settings of gossamer.init(), such as codec, tls, algorithm, transport, interface. A group
    without options connects as the default group does; one with ``Options()`` takes all settings from the environment.

        dist.init_process_group("gossamer", pg_options=gossamer.torch.Options(tls="psk:key", codec="fp16"))
    """

    def __init__(self, **settings: Any) -> None:
        unknown = set(settings) - set(SETTINGS)
        if unknown:
            raise TypeError(f"Options: unknown setting '{min(unknown)}'; there are {', '.join(SETTINGS)}")
        self.settings = settings
