"""Asks an installed Salt for the values of generated words; prints yamlify.json. Usage: PYTHON make_yamlify.py [SEED [COUNT]] > yamlify.json

PYTHON is the interpreter of an environment with Salt in it. See README.md beside this file.
"""
import base64
import json
import random
import sys

import msgpack
import salt.utils.args
import salt.version

RNG = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 20261120)
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 600
WORDS = r"""
1 0 -0 +0 00 007 -007 +010 -010 010 08 0o17 0b11 -0b11 0b 0b2 0b_1 0x1f 0X1F -0xff 0x 0x_ 0xg 1_000 -1_000 +1_0 0_7 12_ _ _1 1__0 1. 1.5 .5 -.5 +.5 . .. ... 1.5.2 1e3 1.e3 1.0e3 1.0e+3 1.0e-3 1.5E+2 .5e+1
1.0e 1.0e+ .inf -.inf +.inf .Inf .INF .iNF .nan .NaN .NAN -.nan inf nan 1:30 1:60 1:5 12:30:45 1:30.5 -1:30 0:30 01:30 190:20:30.15 1_0:30 9007199254740991 9007199254740993 18446744073709551615 18446744073709551616
9223372036854775807 -9223372036854775808 -9223372036854775809 20261120153527368972 10000000000000000000 -1234567890123456789 123456789012345678901 20261120153527368972_1 1.0 -0.0 0.0 1e400 1.0e+400 1.0e-400 100000000000000000000.0
true True TRUE tRue yes Yes YES yEs on On ON off Off OFF no No NO false False FALSE y Y n N t f null Null NULL nULL ~ None NONE none 2026-11-20 2026-1-2 2026-11-20T10:11:12 2026-11-20t1:11:12Z 20261120 2026-11 = << <<: =x
--- -- - - -a -1 --a a- ? ?a : :a a: a:b a::b :: , a,b [a,b] [] {} [a, b] [1,2,three] [1,[2,[3]]] {a:1} {a:1,b:2} {"a":1} {'a':1} {"a": [1,2]} {a} {a,b} {a,b:1} {a,a} {1,1.0} [,] [a,] [a,,b] {,} {a,} {a:,b} [a]b [a][b] {a}{b} {{a}} {{a}:1} {[a]:1}
[{a}] [[]] [{}] {a:{}} {a:[]} [~] [null,~,] [true,yes,y] [-] [-a] [- [?] [?a] [:] [:a] [a:] ["a"] ['a'] ["a","b"] ["a":1] [a:b] {?} {?a} {:} {:a} {a:} [=] [<<] {<<:a} {=:a} [2026-11-20] [0x1f,010,0b1] [1_000] [_] [*] [*a] [&a] [&a,*a] [!] [!a] [!!a] [@] [`] [%] [%a] [a%] [|] [>] [#] [a#] [a#b] ["] ['] [a"b] [a'b]
' " '' "" 'a' "a" 'a"b' "a'b" 'a''b' "a\"b" "a\\b" "a\nb" "a\tb" "\x41" "\u00e9" "\U0001F600" "\q" "\/" "\ " "\_" "\N" "\L" "\P" "\0" "\e" "\x4" "\ud800" 'a\nb' 'a "a 'a'b "a"b a'b a"b 'a' "a"" '''' 'a''' "\"" "\\"
# #a a# a#b [#] {#} & &a &a&b && * *a ** *.* ! !a !! !!a !!int !!str !!int3 !b!c !<a> !<!> !<tag:yaml.org,2002:int> | |- |+ |2 > >- >x |x % %a %YAML @ @a ` `a ; ;a $ $a ^ ^a ( ) (a) + +a / /a \ \a \n < <a a<b a>b a|b a&b a*b a!b a@b a`b a%b a=b é ünï ✓ 😀 日本 ١٢
10.1.2.3 1.2.3 10.20.1.0/24 http://a:80/b?c=d&e=f#g a/b /a/b ~/a ~a C:\a c:/a *.example.com es* es[12] es? [es]* {es}* web[1-3] user@host a@b. -x --foo --foo=bar foo==bar k=v =x x= == = 50% 1,2,3 1,000 $HOME ${a} $(a) `a` a;b a&&b a||b >/dev/null 2>&1 [[ ]] {} } { ] [ [} {] [[a] {{a} a] a} a,b] {a:1}} \u00e9
""".split()
SPACED = """
a b|a: b|a :b|a : b|a:  b|- a|- |? a|? a : b|: a|a: b: c|a: [1]|a: {b: 1}|{a: 1}|{a: 1, b: two}|{ a : 1 }|{a : 1}|{a: }|{a: ,b: }|{ }|[ ]|[ a , b ]|[a: 1]|[a: 1, b]|[a : b]|[a : b : c]|{a: b: c}|[? a]|[? a : b]|{? a}|{? a : b}|{? [a] : b}
{"a": 1}|{"a" : 1}|{"a" :1}|{'a' :1}|{"a":"b"}|{"a":{"b":[1,2,{"c":null}]}}|["a" : 1]|["a" b]|[a "b"]|[a 'b']|{a "b"}|{a: "b"}|{a: "b" c}|{a: 'b'}|"a" b|'a' b|a 'b'|"a": b|"a" : b|"a":b|[1, 2] x|{a: 1} x|[1, 2]: x|{a: 1}: x|[a b, c d]|{a b: c d}
{a: 1, a: 2}|{1: a, 1.0: b}|{1: a, true: b}|{1: a, "1": b}|{null: 1, ~: 2}|{1: a, 2: b}|{1.5: a}|{true: a}|{~: a}|{2026-11-20: a}|{<<: {a: 1}, b: 2}|{b: 2, <<: {a: 1, b: 3}}|{<<: [{a: 1}, {a: 2, c: 3}]}|{<<: 1}|{<<: [1]}|{<<: {a: 1}, <<: {b: 2}}|{=: 1}|[a, <<]|{a: =}
{a: &x 1, b: *x}|[&x a, *x]|[*x, &x a]|[&x a, &x b, *x]|[&x [1], *x]|[&x [*x]]|&x a|&x [a]|&x|&x &y a|{&x a: *x}|{*x : a}|[&x a, {*x : b}]|[&x a, {*x: b}]|*x a|& a|* a
!!int 3|!!int "3"|!!int '010'|!!int 010|!!int 0o17|!!int x|!!int|!!int 1:30|!!int 3.5|!!int " 3 "|!!float 3|!!float 1e3|!!float .5|!!float nan|!!float .nan|!!float inf|!!float x|!!str 3|!!str|!!str true|!!str [a]|!!bool yes|!!bool "YES"|!!bool y|!!bool 1|!!null|!!null x|!!null "x"|!!binary aGVsbG8=|[!!binary aGVsbG8=]|[!!binary "a"]
[!!binary x y]|!!timestamp 2026-11-20|!!timestamp x|!!seq [a]|!!seq a|!!map {a: 1}|!!map a|!!set {a}|!!omap [a: 1]|!!pairs [a: 1]|[!!set {a}]|!!python/none x|!x a|! a|! 3|! [a]|! "a"|!<tag:yaml.org,2002:int> 3|!<tag:yaml.org,2002:str> 3|!<!x> 3|[!!int 3, !!str 3]|{!!str 1: a}|{!!int "1": a, 1: b}|!!int &a 3|&a !!int 3|!!merge x|!!value x|[!!str]|[!!str , a]|[! , a]|{a: !!str}|{a: !!str ,b: 1}|[!!int 3 ]
--- a|--- 5|--- [1]|--- {a: 1}|--- # a|--- --- a|--- |--- | a|--- > a|--- "a"|---a|a ---|a --- b|... a|a ...|--- a ...|%YAML 1.1|%YAML 1.1 --- a|% a|%TAG ! a
 a| a |  pad  | 1 | true | [1]|[1] | {a: 1}| {a: 1} | "a" | 'a' | # a| #| !| ! | &x | |  | - a | a: b | null | ~ | 1_000 | 12_ 3| _ 
# a|a # b|1 # b|1.5 # b|true # b|null # b|~ # b|[1] # x|{a: 1} # x|"a" # b|'a' # b|"a" #b|"a"#b|[1]#x|[1] #x|[1 # x|[a #b]|[a#b]|{a: b #c}|{a: b#c}|[a, #b]|"# a"|'# a'|"#"|["#"]|[a, "#b"]|! # a|!!int 3 # a|a:#b|a: #b|a #|1 #|2026-11-20 # x
'a  b'|"a  b"|a  b|'a  '|" a "|"a \\ b"|'it''s'|'a' 'b'|"a" "b"|'a'  |"\\x41\\u00e9"|["\\x41", 'a\\b']|"a\\|'a\\'|"a\\"b"|{"a\\"b": 1}|{'a''b': 1}
| a|> a||- a||2 a|>+|@ a|` a|, a|] a|} a|[a|{a|[a, b|{a: b|[a]]|{a}}|[a}|{a]|[[a]|[{a]|{[a}|[a {b}]|[a [b]]|a [b]|a {b}|a [b|a, b|a ,b|a , b|1, 2|[1 2]|[1 , 2]|[- a]|[-  a]|[-a, -b]|[- ]|[a -b]|{- a}|{-a: 1}|[-1]|[+1]|[? ]|[: a]|[:a]|[:: a]|[a:, b]|[a: , b]|[a:b, c:d]|{a:b, c:d}|{a:b: c}|{:a: b}|{a: :b}|{a: b:}|[a:]|[a: ]|{?a: b}|{a?: b}|{a: ?b}|{a: ?}|{a: ? }|[a?]|[a ? b]|{a: -}|{a: - }|[-, a]|[a, -]|[---]|[--- a]|[...]|{---: a}|[a, ---]
{a: |}|{a: >}|{a: %b}|{%a: b}|[%a]|[a, %b]|{a: @b}|{a: `b}|{a: *b}|{a: !b}|{a: !b c}|{a: #b}|{ # a}|{a: {b: {c: {d: 1}}}}|[[[[1]]]]|{a: [1, {b: [2]}]}|{"a b": 'c d', e: [f g, "h"]}|{0x1f: 010, on: off}|{10.1.2.3: a}|{a: 10.1.2.3}|{a: 12:30:45}|{a: 2026-11-20 10:11:12}|{http://a: b}|{a: http://b:80/c}|[http://a:80]|{a: b}c|{a: b},|[a],|[a] ,|[a]: b|{a}: b|[a] : b
{{ grains.id }}|{{ a }}|{% a %}|{{a}}x|echo {a}|echo [a]|salt '*' test.ping|echo "a b"|test $(hostname) = es1|echo a; echo b|ls -l /|a && b|a | b|a > b|df -h|if [ -f x ]; then echo y; fi|ps aux # all|grep 'a: b' f|key: value # c|date +%s|printf "a\\nb"|a\\nb|*/5 * * * *|@daily x|=1|= 1|<< a|<<: a|a <<
a\tb|a\nb|\ta|[a\tb]|a\rb|"a\tb"|a\x0bb|a\x0cb|a\x07b|'\x07'|"\x1b"|[\x01]|\x7f|'\x7f'|\xa0a|a\xa0|\xa0|'\xa0'|[\xa0a]|\ufeffa|a\ufeff|'\ufeff'|[\ufeff]|\ufffe|\ud7ff|\ue000|\U0001f600 x|[\U0001f600]|{\u00e9: \u2713}|\x80|'\x80'|\x9f x|\u3000a|\u3000 a|\u3000|\x1c|\x1f 1|1\x0b|1\xa0|[1\xa0]|\u0661|[\u0661]|1_\u0661
"""
PIECES = r"""a b 1 10 010 1.5 true null ~ - : ? , [ ] { } [ ] { } ' " # & * ! | > % @ ` = < \ / . _ + é x y on 0x1f 2026-11-20 12:30 : , , -- ... --- << !! !!int !!str ' ' ': ' ', ' ' #' '- ' '? ' "\\" "''" '""' 'a: ' '{a: ' '[a' '"a"'""".split(" ")
PIECES += [" ", " ", " ", ": ", ", ", " #", "- ", "? ", "\\n", "''", '""', "a: ", "{a: ", "[a", '"a"', "'b'", "}", "]", "*a", "&a "]


def words():
    yield from WORDS
    for line in SPACED.strip("\n").split("\n"):
        yield from line.split("|")
    for _ in range(COUNT):
        roll = RNG.random()
        body = "".join(RNG.choice(PIECES) for _ in range(RNG.choice((1, 2, 3, 3, 4, 5, 6, 8))))
        if roll < 0.25:
            body = "[" + body + "]"
        elif roll < 0.5:
            body = "{" + body + "}"
        elif roll < 0.6:
            body = "[" + ", ".join(RNG.choice(WORDS) for _ in range(RNG.choice((1, 2, 3)))) + "]"
        elif roll < 0.7:
            body = "{" + ", ".join(RNG.choice(WORDS) + ": " + RNG.choice(WORDS) for _ in range(RNG.choice((1, 2)))) + "}"
        yield body


def kept(value):
    """Integers beyond 64 bits travel as text; sets do not travel at all."""
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def pack(value):
    """None: Salt itself could not send it."""
    try:
        return base64.b64encode(msgpack.packb(value, use_bin_type=True, default=kept, strict_types=False)).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


CASES = []
SEEN = set()
for word in words():
    if word not in SEEN:
        SEEN.add(word)
        value = salt.utils.args.yamlify_arg(word)
        is_kept = isinstance(value, str) and value == word
        CASES.append([word] if is_kept else [word, pack(value), repr(value)])
NAMES = "a b num x_y x-y x.y _x É é1 ²a ٣a a٣ 9k a² -a .a a: [a a\\u0301 日本 __kwarg__ Ⅷ Ⅷx x² x½ ½x".split() + ["a b", " a", "a ", "", "a\u0301"]
INPUTS = []
for name in NAMES:
    INPUTS += [[name + "=1"], [name + "==1"], [name + "="], [name + "=[1, 2]", "x", name + "=2"], [name + "=a=b"], [name + "=1\n"], [name + "=a\nb"], [name + "= 1 "]]
for _ in range(60):
    size = RNG.choice((1, 2, 3, 4))
    INPUTS.append([RNG.choice((RNG.choice(WORDS), RNG.choice(NAMES) + "=" + RNG.choice(WORDS))) for _ in range(size)])
INPUTS = [[words, pack(salt.utils.args.parse_input(words, no_parse=["num"]))] for words in INPUTS]
json.dump({"salt": salt.version.__version__, "cases": CASES, "inputs": INPUTS}, sys.stdout, ensure_ascii=True, indent=None, separators=(",", ":"))
