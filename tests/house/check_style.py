#!/usr/bin/env python3
"""Checks the sizes: files, of tests too, within 400 lines (kernels 500), functions within 60 (kernels 150), 90% of them
within 20, and none with more than 7 parameters. A function is counted from the first line of its head to
its closing brace. Kernels mark what they write: their last parameters, one at least, are of type Out, or
of a struct of them, whose name ends in Outs, or a list of such.

usage: check_style.py REPOSITORY"""
import re
import sys
from pathlib import Path

FILE_LIMIT, KERNEL_FILE_LIMIT = 400, 500
FUNCTION_LIMIT, KERNEL_FUNCTION_LIMIT = 60, 150
SHORT, SHORT_SHARE = 20, 0.90
MOST_CASTS = 10  # a thousand lines of include and src
MOST_PARAMETERS = 7
SOURCES = (".h", ".cpp", ".cu", ".cuh")

LITERALS = re.compile(
    r'//(?:\\\n|[^\n])*'
    r'|/\*.*?\*/'
    r'|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-FxX])'(?:\\.|[^'\\\n])+'"
    r'|^[ \t]*#(?:\\\n|[^\n])*',
    re.DOTALL | re.MULTILINE)
TYPE_HEAD = re.compile(r"^(?:typedef\s+)?(?:class|struct|union|enum)\b")
SPACE_HEAD = re.compile(r'^(?:inline\s+)?namespace\b|^extern\s*""?$|^extern$')
ACCESS = re.compile(r"\b(?:public|private|protected)[ \t]*:(?!:)")
CONSTRUCTOR_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
OPERATOR = re.compile(r"operator\s*(?:\(\)|[^\s\w(]+)")
KERNEL = re.compile(r"void\s+\w+\((?=Cpu\b|Cuda\b)")
OUTPUT = re.compile(r"Out |const (?:std::vector<)?\w+Outs>?& ")
LAMBDA = re.compile(r"\]\s*\(")
LAMBDA_BODY = re.compile(r"\s*(?:\{|->|mutable\b|noexcept\b|constexpr\b|[A-Z_]+\s*\{)")


def blank_literals(text):
    """Comments, strings and preprocessor lines become empty, line numbers stay."""
    def blank(match):
        return ('""' if match.group().startswith(('"', 'R"')) else "") + "\n" * match.group().count("\n")
    return LITERALS.sub(blank, text)


def strip_templates(head):
    """The head without leading template<...> parts."""
    while head.startswith("template"):
        depth = 0
        for at, char in enumerate(head):
            depth += (char == "<") - (char == ">" and head[at - 1] != "-")
            if char == ">" and depth == 0:
                break
        head = head[at + 1:].lstrip()
    return head


def kind_of(head):
    """What an opening brace after `head` begins: 'space' (namespace or type), 'function' or 'value'."""
    head = strip_templates(head.strip())
    if TYPE_HEAD.match(head) or SPACE_HEAD.match(head):
        return "space"
    plain = OPERATOR.sub("operator", head)
    if CONSTRUCTOR_LIST.search(plain) and re.search(r"\w$", plain):
        return "value"
    if re.search(r"=\s*\[", plain):
        return "function"
    outside_parens = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", plain)
    if "(" not in plain or re.search(r"(?<![=!<>])=(?!=)", outside_parens):
        return "value"
    return "function"


def in_brackets(text, begin):
    """What is between the bracket at `begin` and the one that closes it."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return text[begin + 1:at]
    return text[begin + 1:]


def listed(parameters):
    """The parameters of a list; commas in brackets and in template arguments part none."""
    depth, parts = 0, [""]
    for at, char in enumerate(parameters):
        before = parameters[at - 1] if at else " "
        depth += char in "([{" or (char == "<" and (before.isalnum() or before == "_"))
        depth -= char in ")]}" or (char == ">" and not before.isspace() and before != "-")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts] if parameters.strip() else []


def parameters_of(head):
    """How many parameters the function has that a head declares; 0 where it declares none."""
    head = OPERATOR.sub("operator", strip_templates(head.strip()))
    if TYPE_HEAD.match(head) or SPACE_HEAD.match(head):
        return 0
    begun = CONSTRUCTOR_LIST.search(head)
    head, most, at = head[:begun.start() + 1] if begun else head, 0, 0
    while at < len(head) and head[at] != "=":
        if head[at] == "(":
            inside = in_brackets(head, at)
            most = max(most, len(listed(inside)))
            at += len(inside) + 1
        at += 1
    return most


def crowded(text):
    """(line, parameters) of every function, declared or defined, and every lambda that has too many."""
    text = ACCESS.sub("", blank_literals(text))
    counts = [(line, parameters_of(head)) for line, head in heads(text)]
    for match in LAMBDA.finditer(text):
        inside = in_brackets(text, match.end() - 1)
        if LAMBDA_BODY.match(text, match.end() + len(inside) + 1):
            counts.append((text.count("\n", 0, match.start()) + 1, len(listed(inside))))
    return sorted((line, count) for line, count in counts if count > MOST_PARAMETERS)


def unmarked(text):
    """Lines of the kernels in a header whose outputs are not their last parameters, of type Out."""
    text = blank_literals(text)
    for match in KERNEL.finditer(text):
        marks = [OUTPUT.match(part) is not None for part in listed(in_brackets(text, match.end() - 1))]
        if not marks[-1] or marks != sorted(marks):
            yield text.count("\n", 0, match.start()) + 1


def functions(text):
    """(first line, last line) of every function with a body; what is inside a function is part of it."""
    return [(first, last) for first, last, _ in scanned(ACCESS.sub("", blank_literals(text))) if last]


def heads(text):
    """(first line, head) of all that namespaces and types hold, in a text without literals."""
    return [(first, head) for first, _, head in scanned(text)]


def scanned(text):
    """(first line, last line, head) of every function with a body, and of every declaration, whose last
    line is None."""
    found = []
    stack, head_start, parens, line = [], None, 0, 1
    for at, char in enumerate(text):
        if char == "\n":
            line += 1
        inside = any(kind != "space" for kind, _, _ in stack)
        if char == "{":
            head = "" if head_start is None else text[head_start[0]:at]
            kind = "inner" if inside else "value" if parens else kind_of(head)
            stack.append((kind, head_start[1] if head_start else line, head))
            if kind == "space":
                head_start = None
        elif char == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                found.append((first, line, head))
            if kind in ("function", "space"):
                head_start = None
        elif not inside:
            parens += (char == "(") - (char == ")")
            if char == ";" and parens == 0:
                if head_start:
                    found.append((head_start[1], None, text[head_start[0]:at]))
                head_start = None
            elif head_start is None and not char.isspace() and char != ";":
                head_start = (at, line)
    return found


def casts(text):
    return len(re.findall(r"\bstatic_cast\b", blank_literals(text)))


def measure(root):
    for top in ("include/skein", "src", "tools"):
        for path in sorted(p for p in (root / top).rglob("*") if p.suffix in SOURCES):
            text = path.read_text()
            yield path.relative_to(root), text, functions(text)


def length_faults(path, text):
    lines, limit = len(text.splitlines()), KERNEL_FILE_LIMIT if "kernels" in path.parts else FILE_LIMIT
    if lines > limit:
        yield f"{path}: {lines} lines, above {limit}: split it by idea"


def file_faults(path, text, found):
    yield from length_faults(path, text)
    function_limit = KERNEL_FUNCTION_LIMIT if "kernels" in path.parts else FUNCTION_LIMIT
    for first, last in found:
        if last - first + 1 > function_limit:
            length = last - first + 1
            yield f"{path}:{first}: a function of {length} lines, above {function_limit}: split it by idea"
    for line, count in crowded(text):
        yield (f"{path}:{line}: a function with {count} parameters, above {MOST_PARAMETERS}: "
               "put what belongs together into a struct")
    for line in unmarked(text) if path.parts[:3] == ("include", "skein", "kernels") else ():
        yield f"{path}:{line}: a kernel whose outputs are not its last parameters, of type Out"


def main(argv):
    root = Path(argv[1]).resolve()
    tests = (p for p in sorted((root / "tests").rglob("*")) if p.suffix in SOURCES)
    faults = [fault for path in tests for fault in length_faults(path.relative_to(root), path.read_text())]
    lengths, files, all_lines, all_casts = [], 0, 0, 0
    for path, text, found in measure(root):
        files += 1
        faults += file_faults(path, text, found)
        lengths += [last - first + 1 for first, last in found]
        if path.parts[0] != "tools":
            all_lines += len(text.splitlines())
            all_casts += casts(text)
    if not lengths:
        faults.append(f"no function found below {argv[1]}")
    share = sum(n <= SHORT for n in lengths) / max(1, len(lengths))
    if share < SHORT_SHARE:
        faults.append(f"{share:.1%} of functions are within {SHORT} lines, below {SHORT_SHARE:.0%}")
    density = 1000 * all_casts / max(1, all_lines)
    if density > MOST_CASTS:
        faults.append(f"{all_casts} static_cast are {density:.1f} a thousand lines, above {MOST_CASTS}: the library "
                      "takes int64_t as it is, its sizes are std::ssize, fewer bits are skein::narrow")
    for fault in faults:
        print(fault)
    print(f"{files} files, {len(lengths)} functions, {share:.1%} within {SHORT} lines, "
          f"longest {max(lengths, default=0)}, {density:.1f} casts a thousand lines, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
