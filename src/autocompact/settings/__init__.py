"""Settings: one ``settings.json`` for everything, read from the project, the user's folder and the environment.

`load_settings` gives all values with their origins; `mode_of` and `policy_of` are what they mean to the engine. Prices and
the policy of the upkeep are in `upkeep`, the schedule of a server in `schedule`: a command that compacts loads neither.
"""

from autocompact.settings.engine import (
    gateway_mode_of,
    mode_of,
    policy_of,
    session_mode_of,
    threshold_of,
    window_of,
)
from autocompact.settings.fields import Setting, all_settings
from autocompact.settings.loading import Loaded, Origin, load_settings, project_file, user_file, value_of
from autocompact.settings.places import databases_of, gateway_database_of, memory_folder_of
from autocompact.settings.schema import made_schema, schema
from autocompact.settings.values import Settings

__all__ = [
    "Loaded",
    "Origin",
    "Setting",
    "Settings",
    "all_settings",
    "databases_of",
    "gateway_database_of",
    "gateway_mode_of",
    "load_settings",
    "made_schema",
    "memory_folder_of",
    "mode_of",
    "policy_of",
    "project_file",
    "schema",
    "session_mode_of",
    "threshold_of",
    "user_file",
    "value_of",
    "window_of",
]
