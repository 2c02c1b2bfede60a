"""Links, paths, names and options that the documentation mentions exist."""

import re
import subprocess
from functools import lru_cache

import check_text
import probing
import pytest
import run_docs
from console import ROOT

PAGES = [path for path in check_text.files(ROOT) if path.suffix == ".md"]


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


@lru_cache(maxsize=None)
def anchors_of(page):
    """Anchors of the headings, as GitHub makes them: lower case, without punctuation, blanks as `-`; the second of a name ends in `-1`."""
    found = []
    for heading in re.findall(r"^#{1,6} +(.*?)[ #]*$", without_code(page.read_text()), flags=re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.append(re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-"))
    return {name + (f"-{found[:i].count(name)}" if name in found[:i] else "") for i, name in enumerate(found)}


def broken_links(page):
    links = re.findall(r"\]\(([^)\s]+)[^)]*\)", without_code(page.read_text()))
    broken = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and (not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_page_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_link_to_a_missing_heading_is_broken(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# The `a_b` of C++ (old)\n## Part\n## Part\n```\n# code\n```\n[1](#the-a_b-of-c-old) [2](a.md#part-1) [3](#code) [4](a.md#parts)\n")
    assert broken_links(page) == ["#code", "a.md#parts"]


def test_paths_of_the_map_exist():
    rows = [line for line in (ROOT / "docs" / "map.md").read_text().splitlines() if line.startswith("|")]
    paths = {p for row in rows for p in re.findall(r"`((?:src|apps|examples|tests|python|bench|cmake|tools|inputs|\.ci)/[^`]*)`", row)}
    assert paths, "the map names no paths"
    assert [p for p in sorted(paths) if not list(ROOT.glob(p.rstrip("/")))] == []


DOCUMENTATION = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs", ROOT / "docs" / "decisions")]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.S | re.M)


def without_indent(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


@lru_cache(maxsize=None)
def compiled_sources():
    files = [p for p in check_text.files(ROOT) if p.suffix in (".cpp", ".hpp")]
    return "\n".join(without_indent(p.read_text()) for p in files)


@pytest.mark.parametrize("page", DOCUMENTATION, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_the_page_is_cut_out_of_what_is_compiled(page):
    made_up = [block for block in blocks(page, "cpp") if without_indent(block) not in compiled_sources()]
    assert made_up == []


EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.cpp"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_tutorial_shows_the_example_and_what_it_prints(example):
    sections = re.split(r"^## ", (ROOT / "docs" / "tutorial.md").read_text(), flags=re.M)
    section = next((s for s in sections if s.startswith(example.stem[:2] + " ")), None)
    assert section is not None, "no section of its number"
    assert f"(../examples/{example.name})" in section
    own = without_indent(example.read_text())
    shown = re.findall(r"^```cpp\n(.*?)^```$", section, flags=re.S | re.M)
    assert shown and [block for block in shown if without_indent(block) not in own] == []
    printed = re.search(r"\n// Output:\n((?://   [^\n]*\n)+)", example.read_text()).group(1)
    assert re.findall(r"^```text\n(.*?)^```$", section, flags=re.S | re.M) == [re.sub(r"^//   ", "", printed, flags=re.M)]


def test_your_own_problem_shows_the_files_of_its_example():
    page = (ROOT / "docs" / "your-own-problem.md").read_text()
    folder = ROOT / "examples" / "star_problem"
    texts = {"cmake": "CMakeLists.txt", "toml": "jet.toml", "cpp": "jet_in_gravity.cpp"}
    for language, name in texts.items():
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.S | re.M)
        own = (folder / name).read_text()
        assert blocks and [b for b in blocks if b.rstrip("\n") not in own] == [], name


COMING_FROM = sorted((ROOT / "docs").glob("coming-from-*.md"))
CURRENT = [page for page in PAGES if page.parent.name != "decisions" and page.name != "CHANGELOG.md"]
# Namespaces with public headers, and those whose headers need other programs, which are searched for the names.
NAMESPACES = ("plx::distributed", "plx::probe", "plx::this_thread", "plx::this_task", "plx::execution", "plx")
SEARCHED = {"plx::gpu": "gpu", "plx::kokkos": "gpu/kokkos", "plx::star": "star"}
TARGETS = {"plx::rt", "plx::net", "plx::gpu", "plx::kokkos", "plx::star"}  # of CMake


def names_in(text):
    """Names of ours in code spans, as (namespace, name, its members)."""
    spans = " ".join(re.findall(r"`([^`\n]*)`", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)))
    for name in set(re.findall(r"\bplx(?:::\w+)+", spans)) - TARGETS:
        if name.rsplit("::", 1)[0] in SEARCHED:
            continue
        namespace = next(n for n in NAMESPACES if name.startswith(n + "::"))
        first, *members = name.removeprefix(namespace + "::").split("::")
        yield namespace, first, tuple(members)


def test_names_of_ours_on_the_pages_exist(tmp_path):
    used = {name for page in CURRENT for name in names_in(page.read_text())}
    assert len(used) > 150
    headers = [h for h in run_docs.public_headers() if not h.startswith("num/")]
    text = "\n".join((ROOT / "src" / h).read_text() for h in headers)
    unknown = [f"{n}::{f}::{m}" for n, f, ms in used for m in ms if not re.search(rf"\b{m}\b", text)]
    source = "".join(f'#include "{h}"\n' for h in headers)
    places = {}
    for i, (namespace, name) in enumerate(sorted({(n, f) for n, f, _ in used})):
        places[len(source.splitlines()) + 1] = f"{namespace}::{name}"
        source += f"namespace use_{i} {{ using {namespace}::{name}; }}\n"
    file = tmp_path / "names.cpp"
    file.write_text(source)
    compiler = [probing.compiler(), "-std=c++20", "-fsyntax-only", f"-I{ROOT}/src", *probing.include_flags(), str(file)]
    errors = subprocess.run(compiler, capture_output=True, text=True).stderr
    lines = {int(line) for line in re.findall(r"names\.cpp:(\d+):\d+: (?:fatal )?error", errors)}
    missing = sorted(unknown + [places.get(line, errors) for line in lines])
    assert not missing, " ".join(missing)


def test_names_of_devices_and_of_the_gas_on_the_pages_exist():
    texts = {n: "\n".join(h.read_text() for h in (ROOT / "src" / f).rglob("*.hpp")) for n, f in SEARCHED.items()}
    pages = "\n".join(page.read_text() for page in CURRENT)
    used = set(re.findall(rf"`({'|'.join(SEARCHED)})::(\w+)", pages))
    assert used and [f"{n}::{name}" for n, name in sorted(used) if not re.search(rf"\b{name}\b", texts[n])] == []


def test_headers_of_the_pages_have_the_names_beside_them():
    wrong = []
    for page in COMING_FROM:
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("| ") else []
            if len(cells) != 4 or cells[2] == "header":
                continue
            headers = re.findall(r"`([^`]*)`", cells[2])
            wrong += [h for h in headers if not (ROOT / "src" / h).exists()]
            text = "\n".join((ROOT / "src" / h).read_text() for h in headers if (ROOT / "src" / h).exists())
            wrong += [name for _, name, _ in names_in(cells[1]) if not re.search(rf"\b{name}\b", text)]
    assert wrong == []


def test_environment_variables_on_the_pages_are_read():
    """Each is in a source, or is a setting: PLX_SAMPLE_INTERVAL is `plx.sample-interval`."""
    examples = {"PLX_KEY", "PLX_PROFLE"}  # a placeholder, and a mistyped name
    named = {v for page in CURRENT for v in re.findall(r"\bPLX_[A-Z_]+\b", page.read_text())} - examples
    sources = texts_of_programs()
    settings = (ROOT / "src" / "probe" / "settings.cpp").read_text()
    keys = {"PLX_" + key.upper().replace("-", "_") for key in re.findall(r'"plx\.([a-z-]+)"', settings)}
    assert len(keys) > 20 and len(named) > 30
    assert [v for v in sorted(named - keys) if not re.search(rf"\b{v}\b", sources)] == []


SPAN = re.compile(r"`([^`\n]+)`")
FOLDERS = sorted({p.parts[len(ROOT.parts)] for p in check_text.files(ROOT) if len(p.parts) > len(ROOT.parts) + 1})
LAYERS = sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir())


def paths_in(text):
    """Code spans that look like a path of the repository, or like the path of a file or folder below src/."""
    for span in SPAN.findall(text):
        if re.fullmatch(rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./{{}},*+-]*", span):
            yield span
        elif re.fullmatch(rf"(?:{'|'.join(LAYERS)})/[\w/*-]+(?:\.(?:hpp|cpp|h|cu)|/)", span):
            yield "src/" + span


def exists(path):
    """`*` matches anything, and a/{b,c} stands for two paths."""
    choice = re.search(r"\{([^{}]*)\}", path)
    if choice:
        return all(exists(path[: choice.start()] + part + path[choice.end() :]) for part in choice.group(1).split(","))
    return bool(list(ROOT.glob(path.rstrip("/"))))


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_on_the_page_exist(page):
    paths = set(paths_in(page.read_text()))
    assert sorted(p for p in paths if not exists(p) and not (page.parent / p).exists()) == []


def test_examples_that_headers_name_exist():
    known = {"/" + str(path.relative_to(ROOT)) for path in check_text.files(ROOT)}
    missing = []
    for header in (ROOT / "src").rglob("*.hpp"):
        comment = "".join(line for line in header.read_text().splitlines(True) if line.lstrip().startswith("//"))
        for text in re.findall(r"Examples?: ((?:[^.]|\.(?! |\n))*)", comment):
            missing += [
                f"{header.relative_to(ROOT)}: {path}"
                for path in re.findall(r"[\w/]+\.(?:cpp|hpp|cu|c|py)\b", text)
                if not any(file.endswith("/" + path) for file in known)
            ]
    assert missing == []


@lru_cache(maxsize=None)
def texts_of_programs():
    files = [p for p in check_text.files(ROOT) if p.suffix in (".cpp", ".hpp", ".h", ".py", ".sh", ".cmake") or p.name in ("plx", "CMakeLists.txt")]
    return "\n".join(p.read_text(errors="replace") for p in files if "/tests/test_" not in str(p))


# Options of other programs.
OTHERS = re.compile(r"--(?:hpx:|acpp-|its$|no-as-needed|cpus-per-task|gres|time$|local$|mpi|cpu-bind|signal$|kill-on-bad-exit|ntasks|nodes$|exclusive$)")


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_on_the_page_exist(page):
    spans = SPAN.findall(page.read_text()) + re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), flags=re.S | re.M)
    # An option stands alone or behind a space; "--" within a word is not one.
    found = {o for span in spans for o in re.findall(r"(?<![\w-])--[a-z][\w:.-]*[a-z]", span)}
    options = {o for o in found if not OTHERS.match(o)}
    known = texts_of_programs()
    bare = {o: o.removeprefix("--plx:") if o.startswith("--plx:") else o for o in options}
    assert sorted(o for o, text in bare.items() if not re.search(rf"(?<![\w-]){re.escape(text)}\b", known)) == []
