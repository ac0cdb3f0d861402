"""The application of Dash: its page, its callbacks, its assets, nothing from the network."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nodewise import colors
from nodewise.errors import InputError
from nodewise.explorer.explorer_data import ExplorerData
from nodewise.explorer.security import secure

if TYPE_CHECKING:
    from dash import Dash

ASSETS: Final = Path(__file__).parent / "assets"
_PAGE = f"""<!DOCTYPE html>
<html lang="en">
<head>{{%metas%}}<title>{{%title%}}</title>{{%favicon%}}<style>{colors.CSS}</style>{{%css%}}</head>
<body>{{%app_entry%}}<footer>{{%config%}}{{%scripts%}}{{%renderer%}}</footer></body>
</html>"""


def need_dash() -> None:
    """Check that Dash is installed, which serves the page.

    Raises:
        InputError: It is not.
    """
    if find_spec("dash") is None:
        raise InputError("explore", "needs the package dash", way_out="pip install dash")


def make_app(explored: ExplorerData, name: str, host: str = "127.0.0.1") -> Dash:
    """The application; it answers requests that come from its own page only.

    Args:
        explored: What it shows.
        name: The run's name.
        host: What the server binds to.
    """
    need_dash()
    from dash import Dash

    from nodewise.explorer.callbacks import register
    from nodewise.explorer.layout import page

    app = Dash(
        "nodewise.explorer",
        assets_folder=str(ASSETS),
        serve_locally=True,
        title=f"{escape(name)}: what localization did",  # Dash fills it in as it is
        update_title=None,
        index_string=_PAGE,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        add_log_handler=False,
        enable_mcp=False,
    )
    app.layout = page(explored, name)
    explored.node(explored.ids[0])  # computes what all nodes share, before the first click
    register(app, explored)
    server: Any = app.server
    secure(server, app.csp_hashes(), host)
    return app
