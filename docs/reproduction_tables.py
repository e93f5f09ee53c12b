"""Puts the output of ``garrote paper`` into reproduction.md: python docs/reproduction_tables.py results/paper.

Items that are not in the folder keep the section that they have.
"""

import shutil
import sys
from pathlib import Path

from garrote.paper import ITEMS

BEGIN, END = "<!-- results: written by reproduction_tables.py -->", "<!-- end of results -->"


def main(results: Path) -> None:
    docs = Path(__file__).parent
    figures = docs / "_static" / "paper"
    figures.mkdir(parents=True, exist_ok=True)
    page = docs / "reproduction.md"
    before, _, after = page.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = after.partition(END)
    kept = {section.split(maxsplit=1)[0]: f"## {section.strip()}" for section in old.split("\n## ")[1:]}
    sections = []
    for name in ITEMS:
        if not (results / f"{name}.md").exists():
            sections.append(kept[name])
            continue
        shutil.copy(results / f"{name}.png", figures)
        text = (results / f"{name}.md").read_text(encoding="utf-8").strip()
        heading, caption, rest = text.split("\n\n", 2)
        sections.append(f"{heading}\n\n{caption}\n\n![{name}](_static/paper/{name}.png)\n\n{rest}")
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(sections) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
