"""How pictures of the pages are saved: as PNG of few colors, which is small and looks the same."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

IMAGES = Path(__file__).parent / "images"


def save(figure: Figure, name: str, colors: int = 64) -> None:
    """Write docs/images/NAME.png."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(colors).save(IMAGES / f"{name}.png")
