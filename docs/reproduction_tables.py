"""Puts the output of ``garrote paper --all`` into reproduction.md: python docs/reproduction_tables.py results/paper."""

import shutil
import sys
from pathlib import Path

from garrote.paper import ITEMS

BEGIN, END = "<!-- results: written by reproduction_tables.py -->", "<!-- end of results -->"


def main(results: Path) -> None:
    docs = Path(__file__).parent
    figures = docs / "_static" / "paper"
    figures.mkdir(parents=True, exist_ok=True)
    sections = []
    for name in ITEMS:
        shutil.copy(results / f"{name}.png", figures)
        text = (results / f"{name}.md").read_text(encoding="utf-8").strip()
        heading, caption, rest = text.split("\n\n", 2)
        sections.append(f"{heading}\n\n{caption}\n\n![{name}](_static/paper/{name}.png)\n\n{rest}")
    page = docs / "reproduction.md"
    before, _, after = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = after.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(sections) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
