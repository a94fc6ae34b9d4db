# SPDX-License-Identifier: BSD-3-Clause
"""Where a C file can be changed by one token, and how.

Looks at function bodies alone, which in this project begin and end with a brace
in the first column. Left alone are preprocessor lines, texts, and what only
says something: calls of SAYS with all that they are given.
"""

import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<text>L?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?)[uUlLfF]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S | re.M)

BODY = re.compile(r"^\{\n.*?^\}", re.S | re.M)

SAYS = re.compile(r"(?:\w+_)?(?:domain_|conn_|client_)?log|log_text|complain|"
                  r"v?f?printf|LogEvent|[A-Z]+_PROBE\w*|DTRACE_\w+|"
                  r"(?:static_)?assert|_Static_assert|CU_\w+")

SWAP = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="),
        ">=": (">", "<"), "==": ("!=",), "!=": ("==",), "&&": ("||",),
        "||": ("&&",), "<<": (">>",), ">>": ("<<",), "++": ("--",),
        "--": ("++",), "+=": ("-=",), "-=": ("+=",), "|=": ("&=",),
        "&=": ("|=",), "/": ("*",), "%": ("/",), "|": ("&",)}
# Of these the operand before them tells that they have two.
BINARY = {"+": ("-",), "-": ("+",), "&": ("|",)}
KEYWORDS = {"return", "sizeof", "case", "if", "while", "for", "else", "do",
            "switch", "goto"}


class Token:
    __slots__ = ("kind", "text", "start", "end")

    def __init__(self, kind, text, start):
        self.kind, self.text, self.start = kind, text, start
        self.end = start + len(text)


class Change:
    """Replace text[start:end] of a file by @new."""

    def __init__(self, path, line, start, end, new, what):
        self.path, self.line = path, line
        self.start, self.end, self.new, self.what = start, end, new, what

    def __str__(self):
        return "%s:%d %s" % (self.path, self.line, self.what)

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]


def scan(text, start, end):
    out, at = [], start
    while at < end:
        m = TOKEN.match(text, at)
        if m.lastgroup != "skip":
            out.append(Token(m.lastgroup, m.group(), at))
        at = m.end()
    return out


def partner(tokens, i):
    """Index of the parenthesis that closes the one at @i."""
    depth = 0
    for k in range(i, len(tokens)):
        if tokens[k].text == "(":
            depth += 1
        elif tokens[k].text == ")":
            depth -= 1
            if not depth:
                return k
    return None


def operand(token):
    return token.text in (")", "]") or token.kind == "number" or (
        token.kind == "name" and token.text not in KEYWORDS)


def number(text):
    m = re.match(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$", text)
    if not m:
        return None
    value = int(m[1], 0) if m[1] == "0" or not re.match(r"0\d", m[1]) else int(m[1], 8)
    return "%d%s" % (value + 1, m[2])


def begins_statement(tokens, i):
    """Is what is at @i the first of a statement? After ")" it is that of an if or
    a loop only where its condition ends there."""
    before = tokens[i - 1]
    if before.text in (";", "{", "}") or before.text in ("else", "do"):
        return True
    if before.text != ")":
        return False
    depth = 0
    for k in range(i - 1, 0, -1):
        depth += (tokens[k].text == ")") - (tokens[k].text == "(")
        if not depth:
            return tokens[k - 1].text in ("if", "while", "for")
    return False


def of_token(tokens, i):
    """[(index of the first token, of the last, new text, what)] at token @i"""
    t, before = tokens[i], tokens[i - 1]
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    out = []

    def put(new, last=i, what=None):
        out.append((i, last, new, what or "%s -> %s" % (t.text, new or "nothing")))

    if t.kind == "op":
        for new in SWAP.get(t.text, ()):
            put(new)
        if t.text in BINARY and operand(before):
            for new in BINARY[t.text]:
                put(new)
        elif t.text == "-" and after and after.kind != "op":
            put("", what="minus left out")
        if t.text == "!":
            put("", what="! left out")
    elif t.kind == "number":
        new = number(t.text)
        if new:
            put(new)
    elif t.text in ("true", "false"):
        put("false" if t.text == "true" else "true")
    elif t.text in ("break", "continue") and after and after.text == ";":
        put("", what="%s left out" % t.text)
    elif t.text == "return" and after and after.text == ";":
        put("", what="return left out")
    elif t.text == "if" and after and after.text == "(":
        end = partner(tokens, i + 1)
        if end:
            out.append((i + 1, end, None, "branch turned"))
    elif (t.kind == "name" and t.text not in KEYWORDS and after and
          after.text == "(" and begins_statement(tokens, i)):
        end = partner(tokens, i + 1)
        if end and end + 1 < len(tokens) and tokens[end + 1].text == ";":
            put("", end, "call of %s left out" % t.text)
    return out


def changes(path, text):
    """All changes of one token of a file."""
    out = []
    for body in BODY.finditer(text):
        tokens = scan(text, body.start(), body.end())
        i = 1
        while i < len(tokens):
            t = tokens[i]
            if t.kind == "name" and SAYS.fullmatch(t.text) and (
                    i + 1 < len(tokens) and tokens[i + 1].text == "("):
                i = (partner(tokens, i + 1) or i) + 1
                continue
            for first, last, new, what in of_token(tokens, i):
                start, end = tokens[first].start, tokens[last].end
                if new is None:
                    new = "(!%s)" % text[start:end]
                out.append(Change(path, text.count("\n", 0, t.start) + 1,
                                  start, end, new, what))
            i += 1
    return out
