/**
 * Parses Jinja's statements to a template's tree.
 * Source: Jinja 3.1's parser, its `do` and loop controls, and Salt's `load_*` and `import_*` tags.
 */
import type { AssignTarget, Branch, Expression, FilterStep, MacroParts, Parameter, Statement } from "./ast.ts";
import { noArguments, parseExpression, parseFilterName, parseTuple } from "./expressions.ts";
import { type LexerOptions, syntaxFault, tokenize } from "./lexer.ts";
import { TokenReader } from "./token-reader.ts";

/** @throws PILLAR_FAILED with the line */
export function parseTemplate(source: string, options: LexerOptions): readonly Statement[] {
  const reader = new TokenReader(tokenize(source, options));
  const body = new StatementParser(reader).statements([]);
  if (reader.current.kind !== "end") throw reader.unexpected();
  return body;
}

const refusedTags: Readonly<Record<string, string>> = {
  extends: "template inheritance",
  block: "template inheritance",
  autoescape: "autoescape",
  trans: "translation",
  print: "the print tag",
  debug: "the debug tag",
};

class StatementParser {
  readonly #reader: TokenReader;
  /** End tags of the open tags, innermost last. */
  readonly #openTags: string[] = [];
  readonly #wanted: (readonly string[])[] = [];
  #loopDepth = 0;

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  /** Parses statements up to a tag with one of these names, which is then the current token. */
  statements(ends: readonly string[]): Statement[] {
    const reader = this.#reader;
    const body: Statement[] = [];
    for (;;) {
      const { kind, text, line } = reader.current;
      if (kind === "data") {
        reader.next();
        body.push({ kind: "text", text, line });
      } else if (kind === "variableBegin") {
        reader.next();
        body.push({ kind: "output", expression: parseTuple(reader), line });
        reader.expectKind("variableEnd");
      } else if (kind === "blockBegin") {
        reader.next();
        if (ends.some((end) => reader.isName(end))) return body;
        body.push(this.#tag());
        reader.expectKind("blockEnd");
      } else if (kind === "end") {
        if (ends.length > 0) throw this.#unclosed(ends);
        return body;
      } else throw reader.unexpected();
    }
  }

  #unclosed(ends: readonly string[]): Error {
    const wanted = ends.map((end) => `'${end}'`).join(" or ");
    return syntaxFault(
      `Unexpected end of template. Jinja was looking for the following tags: ${wanted}.${this.#innermost()}`,
      this.#reader.lastLine,
    );
  }

  #innermost(): string {
    const open = this.#openTags.at(-1);
    return open === undefined ? "" : ` The innermost block that needs to be closed is '${open}'.`;
  }

  /** Parses the rest of a tag and its body up to one of `ends`. */
  #body(ends: readonly string[]): Statement[] {
    this.#reader.skip(":");
    this.#reader.expectKind("blockEnd");
    this.#wanted.push(ends);
    const body = this.#reader.nested(() => this.statements(ends));
    this.#wanted.pop();
    return body;
  }

  /** Parses a body and its single end tag. */
  #closedBody(tag: string, end: string): Statement[] {
    this.#openTags.push(tag);
    const body = this.#body([end]);
    this.#reader.next();
    this.#openTags.pop();
    return body;
  }

  #tag(): Statement {
    const reader = this.#reader;
    const { line } = reader.current;
    const tag = reader.current.kind === "name" ? reader.next().text : "";
    switch (tag) {
      case "for":
        return this.#for(line);
      case "if":
        return this.#if(line);
      case "set":
        return this.#set(line);
      case "with":
        return this.#with(line);
      case "macro": {
        const name = reader.expectName();
        reader.expect("(");
        return { kind: "macro", ...this.#macro(name, "macro", "endmacro"), line };
      }
      case "call":
        return this.#call(line);
      case "filter": {
        const filters = this.#filterSteps();
        return { kind: "filterBlock", filters, body: this.#closedBody(tag, "endfilter"), line };
      }
      case "profile": {
        // Salt measures such a block. The output is that of its body.
        if (!reader.skipName("as")) throw reader.unexpected("as");
        parseExpression(reader);
        return { kind: "if", branches: [], otherwise: this.#closedBody(tag, "endprofile"), line };
      }
      case "do":
        return { kind: "do", expression: parseTuple(reader), line };
      case "break":
      case "continue":
        if (this.#loopDepth === 0) throw syntaxFault(`'${tag}' outside of a loop`, line);
        return { kind: tag, line };
      default:
        return this.#tagOfFiles(tag, line);
    }
  }

  #tagOfFiles(tag: string, line: number): Statement {
    const reader = this.#reader;
    switch (tag) {
      case "include":
        return this.#include(line);
      case "import":
        return this.#import(line, undefined);
      case "import_yaml":
      case "import_json":
      case "import_text":
        return this.#import(line, tag.replace("import_", "load_"));
      case "from":
        return this.#fromImport(line);
      case "load_yaml":
      case "load_json":
      case "load_text": {
        if (!reader.skipName("as")) throw reader.unexpected("as");
        const target = this.#assignTarget([]);
        const filters = [{ name: tag, args: noArguments, line }];
        return { kind: "capture", target, filters, body: this.#closedBody(tag, "endload"), line };
      }
      default:
        throw this.#unknownTag(tag, line);
    }
  }

  #unknownTag(tag: string, line: number): Error {
    if (Object.hasOwn(refusedTags, tag)) return syntaxFault(`{% ${tag} %}: ${refusedTags[tag]} is not supported`, line);
    if (tag === "") return syntaxFault("tag name expected", line);
    const wanted = this.#wanted
      .at(-1)
      ?.map((end) => `'${end}'`)
      .join(" or ");
    if (wanted !== undefined && this.#wanted.some((ends) => ends.includes(tag))) {
      const mistake = `You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for ${wanted}.`;
      return syntaxFault(`Encountered unknown tag '${tag}'. ${mistake}${this.#innermost()}`, line);
    }
    if (wanted !== undefined) {
      const looking = `Jinja was looking for the following tags: ${wanted}.`;
      return syntaxFault(`Encountered unknown tag '${tag}'. ${looking}${this.#innermost()}`, line);
    }
    return syntaxFault(`Encountered unknown tag '${tag}'.${this.#innermost()}`, line);
  }

  #for(line: number): Statement {
    const reader = this.#reader;
    const target = this.#assignTarget(["in"]);
    if (!reader.skipName("in")) throw reader.unexpected("in");
    const over = parseTuple(reader, { isConditionAllowed: false, endNames: ["recursive", "if"] });
    const test = reader.skipName("if") ? parseExpression(reader) : undefined;
    const isRecursive = reader.skipName("recursive");
    this.#openTags.push("for");
    this.#loopDepth += 1;
    const body = this.#body(["endfor", "else"]);
    this.#loopDepth -= 1;
    const hasElse = reader.next().text === "else";
    const otherwise = hasElse ? this.#body(["endfor"]) : [];
    if (hasElse) reader.next();
    this.#openTags.pop();
    return { kind: "for", target, over, test, isRecursive, body, otherwise, line };
  }

  #if(line: number): Statement {
    const reader = this.#reader;
    const branches: Branch[] = [];
    this.#openTags.push("if");
    for (;;) {
      const test = parseTuple(reader, { isConditionAllowed: false });
      branches.push({ test, body: this.#body(["elif", "else", "endif"]) });
      const next = reader.next().text;
      if (next === "elif") continue;
      const otherwise = next === "else" ? this.#body(["endif"]) : [];
      if (next === "else") reader.next();
      this.#openTags.pop();
      return { kind: "if", branches, otherwise, line };
    }
  }

  #set(line: number): Statement {
    const reader = this.#reader;
    const target = this.#assignTarget([]);
    if (reader.skip("=")) return { kind: "set", target, value: parseTuple(reader), line };
    const filters = reader.skip("|") ? this.#filterSteps() : [];
    return { kind: "capture", target, filters, body: this.#closedBody("set", "endset"), line };
  }

  #with(line: number): Statement {
    const reader = this.#reader;
    const assignments: [AssignTarget, Expression][] = [];
    while (reader.current.kind !== "blockEnd") {
      if (assignments.length > 0) reader.expect(",");
      const name = reader.expectName();
      reader.expect("=");
      assignments.push([{ kind: "name", name }, parseExpression(reader)]);
    }
    return { kind: "with", assignments, body: this.#closedBody("with", "endwith"), line };
  }

  /** Parses from after the opening parenthesis to the end of the body. */
  #macro(name: string, tag: string, end: string): MacroParts {
    const reader = this.#reader;
    const parameters: Parameter[] = [];
    while (!reader.skip(")")) {
      if (parameters.length > 0) reader.expect(",");
      const { line } = reader.current;
      const parameter = reader.expectName();
      const fallback = reader.skip("=") ? parseExpression(reader) : undefined;
      if (fallback === undefined && parameters.at(-1)?.fallback !== undefined)
        throw syntaxFault("non-default argument follows default argument", line);
      parameters.push({ name: parameter, fallback });
    }
    return this.#withoutLoop(() => ({ name, parameters, body: this.#closedBody(tag, end) }));
  }

  /** Parses a macro's body: `break` in it cannot end a loop around the macro. */
  #withoutLoop<T>(parse: () => T): T {
    const depth = this.#loopDepth;
    this.#loopDepth = 0;
    const parsed = parse();
    this.#loopDepth = depth;
    return parsed;
  }

  #call(line: number): Statement {
    const reader = this.#reader;
    const parameters: Parameter[] = [];
    if (reader.skip("(")) {
      while (!reader.skip(")")) {
        if (parameters.length > 0) reader.expect(",");
        const name = reader.expectName();
        parameters.push({ name, fallback: reader.skip("=") ? parseExpression(reader) : undefined });
      }
    }
    const call = parseExpression(reader);
    if (call.kind !== "call") throw syntaxFault("expected call", line);
    const body = this.#withoutLoop(() => this.#closedBody("call", "endcall"));
    return { kind: "callBlock", call, caller: { name: "caller", parameters, body }, line };
  }

  #filterSteps(): FilterStep[] {
    const reader = this.#reader;
    const steps: FilterStep[] = [];
    do {
      const { line } = reader.current;
      steps.push({ ...parseFilterName(reader), line });
    } while (reader.skip("|"));
    return steps;
  }

  #isWithContext(byDefault: boolean): boolean {
    const reader = this.#reader;
    for (const [word, value] of [
      ["with", true],
      ["without", false],
    ] as const) {
      if (!reader.isName(word) || !reader.isNextName("context")) continue;
      reader.next();
      reader.next();
      return value;
    }
    return byDefault;
  }

  #include(line: number): Statement {
    const reader = this.#reader;
    const template = parseExpression(reader);
    const isMissingIgnored = reader.isName("ignore") && reader.isNextName("missing");
    if (isMissingIgnored) {
      reader.next();
      reader.next();
    }
    return { kind: "include", template, isMissingIgnored, isWithContext: this.#isWithContext(true), line };
  }

  #import(line: number, load: string | undefined): Statement {
    const reader = this.#reader;
    const template = parseExpression(reader);
    if (!reader.skipName("as")) throw reader.unexpected("as");
    const name = reader.expectName();
    return { kind: "import", template, name, load, isWithContext: this.#isWithContext(false), line };
  }

  #fromImport(line: number): Statement {
    const reader = this.#reader;
    const template = parseExpression(reader);
    if (!reader.skipName("import")) throw reader.unexpected("import");
    const names: [string, string][] = [];
    let isWithContext = false;
    for (;;) {
      isWithContext = this.#isWithContext(isWithContext);
      if (reader.current.kind !== "name") break;
      const name = reader.next().text;
      if (name.startsWith("_")) throw syntaxFault("names starting with an underline can not be imported", line);
      names.push([name, reader.skipName("as") ? reader.expectName() : name]);
      isWithContext = this.#isWithContext(isWithContext);
      if (!reader.skip(",")) break;
    }
    if (names.length === 0) throw reader.unexpected("name");
    return { kind: "fromImport", template, names, isWithContext, line };
  }

  /** Parses a target of `set` or `for`: a name, `namespace.name`, or several of them, with or without parentheses. */
  #assignTarget(endNames: readonly string[]): AssignTarget {
    const reader = this.#reader;
    const items: AssignTarget[] = [];
    let isTuple = false;
    for (;;) {
      items.push(this.#singleTarget());
      if (!reader.skip(",")) break;
      isTuple = true;
      if (reader.is("=") || endNames.some((name) => reader.isName(name))) break;
    }
    const [only] = items;
    return isTuple || only === undefined ? { kind: "names", items } : only;
  }

  #singleTarget(): AssignTarget {
    const reader = this.#reader;
    if (reader.skip("(")) {
      const inner = reader.nested(() => this.#assignTarget([]));
      reader.expect(")");
      return inner;
    }
    const { line } = reader.current;
    const name = reader.expectName();
    if (["true", "false", "none", "True", "False", "None"].includes(name))
      throw syntaxFault("can't assign to 'const'", line);
    if (!reader.skip(".")) return { kind: "name", name };
    return { kind: "member", object: name, name: reader.expectName() };
  }
}
