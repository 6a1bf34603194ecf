/** Cases that real Salt renders and this program refuses, and errors with another wording; also in docs/pillar.md. */
export const refusedHere: Readonly<
  Record<"expressions" | "templates" | "documents" | "otherWords" | "unordered", readonly string[]>
> = {
  expressions: ['{"items": 5}.items', '"aab"|unique', '"x" is sameas "x"', "[1,2,3]|random is defined"],
  templates: ["block tag", "autoescape tag"],
  /** YAML that both read differently. */
  documents: ["a: !!str 12\nb: !!int '12'\nc: !!float 1\nd: !!bool yes\ne: !!null ''\n", "=: a\n"],
  /** Both raise, with another wording. */
  otherWords: [
    '"{}".format()',
    '"{0.x}".format("a")',
    '{"a": 1}.keys()[0]',
    '{"a": 1, 2: "b"}|json',
    '"not json"|load_json',
    '"a: b: c"|load_yaml',
    '"".__class__',
    "().__class__.__mro__",
    "grains.__class__",
    'grains["__class__"]',
    '"a"|attr("__class__")',
    "range.__globals__",
    "grains.get.__self__",
    '"unterminated',
    "from import missing name",
    "import from subdirectory relative",
    "include outside",
    "include absolute",
    "include itself",
    "load yaml broken",
    "load yaml unknown tag",
    "unclosed variable",
  ],
  /** Salt visits environments in the order of a set, which differs from run to run. */
  unordered: ["top file in each environment"],
};
