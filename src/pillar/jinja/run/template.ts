/**
 * Renders a template: runs its statements, collects its text up to `pillarTextBytesMax`, and loads includes and imports.
 * Source: Jinja 3.1 as Salt 3007 sets it up (strict undefined values, `do`, loop controls), observed; docs/pillar.md.
 */

import { hasCode } from "../../../errors.ts";
import { pillarTextBytesMax, templateDepthMax } from "../../../limits.ts";
import { printedOf, strOf } from "../../../python/repr.ts";
import { type Item, isTrue, itemOr, iterate, Tuple } from "../../../python/values.ts";
import type { FilterHost } from "../filters/host.ts";
import { applyFilter } from "../filters/registry.ts";
import { callItem } from "../python/methods-collections.ts";
import type { FilterStep, MacroParts, Statement } from "../syntax/ast.ts";
import { asFault, type CallArguments, Callable, fault, Members, Undefined } from "../values/objects.ts";
import { argumentsOf, atLine, evaluate } from "./evaluate.ts";
import { globals } from "./globals.ts";
import { loopOf } from "./loop.ts";
import { bindMacro, missingParameter } from "./macro.ts";
import { assign, Scope } from "./scope.ts";
import { applyTest } from "./tests.ts";

export type ParsedTemplate = {
  /** Path below its root, for messages and relative loads. */
  readonly name: string;
  /** The file's path; undefined for a text without a file. */
  readonly path?: string;
  readonly body: readonly Statement[];
};

export type TemplateEnvironment = {
  /** Loads a template for `from`; undefined if there is none. @throws PILLAR_FAILED if it is invalid */
  readonly load: (name: string, from: string) => ParsedTemplate | undefined;
  readonly loadYaml: (text: string) => Item;
  /** As in `FilterHost`. */
  readonly isLenient?: boolean;
  /** Variables of every template, also of imports without context. */
  readonly globals: Iterable<readonly [string, Item]>;
  /** Variables derived from a template's name. */
  readonly globalsOf: (template: string) => Iterable<readonly [string, Item]>;
};

type Flow = "next" | "break" | "continue";
type Loop = { readonly statement: Extract<Statement, { kind: "for" }>; readonly scope: Scope; readonly depth: number };

/** Adds the template's file to an error without one. */
function inFile<T>({ name, path }: ParsedTemplate, run: () => T): T {
  const file = path ?? name;
  try {
    return run();
  } catch (raised) {
    const error = asFault(raised);
    if (hasCode(error, "PILLAR_FAILED") && !("file" in (error as object))) Object.assign(error as object, { file });
    if (error instanceof RangeError && error.message.includes("call stack"))
      throw Object.assign(fault("python", "maximum recursion depth exceeded"), { file });
    throw error;
  }
}

class Rendering {
  readonly #environment: TemplateEnvironment;
  readonly #globals: Scope;
  readonly #host: FilterHost;
  #out: string[] = [];
  #length = 0;
  #depth = 0;

  constructor(environment: TemplateEnvironment) {
    this.#environment = environment;
    this.#globals = new Scope(new Scope(undefined, globals), environment.globals);
    this.#host = {
      filter: (name, input, args) => applyFilter(this.#host, name, input, args),
      test: (name, input, args) => applyTest(this.#host, name, input, args),
      loadYaml: environment.loadYaml,
      isLenient: environment.isLenient === true,
    };
  }

  /** Text of the whole template. */
  render(template: ParsedTemplate, names: Iterable<readonly [string, Item]>): string {
    const scope = new Scope(this.#globals, names);
    return this.#capture(() => this.#run(template, scope));
  }

  #run(template: ParsedTemplate, scope: Scope): void {
    this.#deeper(() => inFile(template, () => this.#statements(template.body, scope, template)));
  }

  #deeper<T>(run: () => T): T {
    if (this.#depth >= templateDepthMax) throw fault("python", "maximum recursion depth exceeded");
    this.#depth += 1;
    try {
      return run();
    } finally {
      this.#depth -= 1;
    }
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > pillarTextBytesMax)
      throw fault("python", `the template renders to more than ${pillarTextBytesMax} characters`);
    this.#out.push(text);
  }

  /** Returns the text that `run` writes. */
  #capture(run: () => void): string {
    const outer = this.#out;
    this.#out = [];
    try {
      run();
      return this.#out.join("");
    } finally {
      this.#out = outer;
    }
  }

  #statements(body: readonly Statement[], scope: Scope, template: ParsedTemplate, loop?: Loop): Flow {
    for (const statement of body) {
      if (statement.kind === "text") {
        this.#write(statement.text);
        continue;
      }
      const flow = atLine(statement.line, () => this.#statement(statement, scope, template, loop));
      if (flow !== "next") return flow;
    }
    return "next";
  }

  #statement(statement: Statement, scope: Scope, template: ParsedTemplate, loop: Loop | undefined): Flow {
    switch (statement.kind) {
      case "output":
        this.#write(printedOf(evaluate(statement.expression, scope, this.#host)));
        return "next";
      case "if": {
        const taken = statement.branches.find(({ test }) => isTrue(evaluate(test, scope, this.#host)));
        return this.#statements(taken?.body ?? statement.otherwise, scope, template, loop);
      }
      case "for":
        this.#for({ statement, scope, depth: 0 }, template);
        return "next";
      case "break":
      case "continue":
        return statement.kind;
      case "with": {
        const inner = new Scope(scope);
        const values = statement.assignments.map(([, value]) => evaluate(value, scope, this.#host));
        for (const [index, [target]] of statement.assignments.entries()) assign(inner, target, values[index] ?? null);
        return this.#statements(statement.body, inner, template, loop);
      }
      default:
        this.#simple(statement, scope, template);
        return "next";
    }
  }

  /** Statements that cannot leave a loop. */
  #simple(statement: Statement, scope: Scope, template: ParsedTemplate): void {
    switch (statement.kind) {
      case "do":
        evaluate(statement.expression, scope, this.#host);
        break;
      case "set":
        assign(scope, statement.target, evaluate(statement.value, scope, this.#host));
        break;
      case "capture": {
        const text = this.#capture(() => this.#statements(statement.body, new Scope(scope), template));
        assign(scope, statement.target, this.#filtered(text, statement.filters, scope));
        break;
      }
      case "filterBlock": {
        const text = this.#capture(() => this.#statements(statement.body, new Scope(scope), template));
        this.#write(strOf(this.#filtered(text, statement.filters, scope)));
        break;
      }
      case "macro":
        scope.set(statement.name, this.#macro(statement, scope, template));
        break;
      case "callBlock": {
        const { call, caller } = statement;
        if (call.kind !== "call") break;
        const args = argumentsOf(call.args, scope, this.#host);
        const named = new Map([...args.named, ["caller", this.#macro(caller, scope, template)] as const]);
        const callee = evaluate(call.callee, scope, this.#host);
        this.#write(printedOf(callItem(callee, args.positional, named)));
        break;
      }
      default:
        this.#loading(statement, scope, template);
    }
  }

  /** Statements that load another template. */
  #loading(statement: Statement, scope: Scope, template: ParsedTemplate): void {
    switch (statement.kind) {
      case "include": {
        const included = this.#load(
          evaluate(statement.template, scope, this.#host),
          template,
          statement.isMissingIgnored,
        );
        if (included === undefined) break;
        const own = new Scope(this.#globals, this.#environment.globalsOf(included.name));
        this.#run(included, new Scope(statement.isWithContext ? scope : own));
        break;
      }
      case "import": {
        const module = this.#module(statement.template, statement.isWithContext, scope, template);
        const { load, name } = statement;
        if (load === undefined) scope.set(name, module);
        else scope.set(name, applyFilter(this.#host, load, module, { positional: [], named: new Map() }));
        break;
      }
      case "fromImport": {
        const module = this.#module(statement.template, statement.isWithContext, scope, template);
        for (const [name, alias] of statement.names) {
          const place = `(imported on line ${statement.line} in '${template.name}')`;
          const text = `the template ${module.typeName} ${place} does not export the requested name '${name}'`;
          scope.set(
            alias,
            itemOr(module.member(name), () => new Undefined(text)),
          );
        }
        break;
      }
    }
  }

  #filtered(text: string, filters: readonly FilterStep[], scope: Scope): Item {
    let item: Item = text;
    for (const { name, args, line } of filters) {
      const input: Item = item;
      item = atLine(line, (): Item => applyFilter(this.#host, name, input, argumentsOf(args, scope, this.#host)));
    }
    return item;
  }

  #for(loop: Loop, template: ParsedTemplate): void {
    const over = evaluate(loop.statement.over, loop.scope, this.#host);
    this.#loopOver(over, loop, template);
  }

  #loopOver(over: Item, loop: Loop, template: ParsedTemplate): void {
    const { statement, scope, depth } = loop;
    const { target, test, body } = statement;
    const all = iterate(over);
    const items = test === undefined ? all : all.filter((item) => this.#passes(loop, item));
    if (items.length === 0) {
      this.#statements(statement.otherwise, new Scope(scope), template);
      return;
    }
    const state = { changed: undefined };
    const recurse = statement.isRecursive
      ? (inner: Item): Item =>
          this.#deeper(() => this.#capture(() => this.#loopOver(inner, { ...loop, depth: depth + 1 }, template)))
      : undefined;
    // As in Python, the loop sees items that its body adds to the list: array iterators read the length each time.
    for (const [index, item] of items.entries()) {
      const pass = new Scope(scope);
      pass.set("loop", loopOf(items, index, depth, state, recurse));
      assign(pass, target, item);
      if (this.#statements(body, pass, template, loop) === "break") break;
    }
  }

  #passes({ statement, scope }: Loop, item: Item): boolean {
    const pass = new Scope(scope);
    assign(pass, statement.target, item);
    return statement.test === undefined || isTrue(evaluate(statement.test, pass, this.#host));
  }

  #macro(parts: MacroParts, scope: Scope, template: ParsedTemplate): Callable {
    return new Callable(parts.name, (args: CallArguments) =>
      this.#deeper(() =>
        inFile(template, () => {
          const inner = new Scope(scope);
          const values = bindMacro(parts, args);
          for (const { name, fallback } of parts.parameters) {
            const standIn = () => (fallback ? evaluate(fallback, inner, this.#host) : missingParameter(name));
            inner.set(name, itemOr(values.get(name), standIn));
          }
          for (const [name, value] of values) if (inner.get(name) !== value) inner.set(name, value);
          return this.#capture(() => this.#statements(parts.body, inner, template));
        }),
      ),
    );
  }

  /** Loads the first existing template of the given names. */
  #load(name: Item, from: ParsedTemplate, isMissingIgnored: boolean): ParsedTemplate | undefined {
    const names = Array.isArray(name) || name instanceof Tuple ? iterate(name).map(strOf) : [strOf(name)];
    for (const candidate of names) {
      const found = this.#environment.load(candidate, from.name);
      if (found !== undefined) return found;
    }
    if (isMissingIgnored) return undefined;
    throw fault(
      "python",
      names.length === 1 ? (names[0] ?? "") : `none of the templates given were found: ${names.join(", ")}`,
    );
  }

  /** An imported template: its variables and its text. */
  #module(
    expression: Parameters<typeof evaluate>[0],
    isWithContext: boolean,
    scope: Scope,
    from: ParsedTemplate,
  ): Members {
    const template = this.#load(evaluate(expression, scope, this.#host), from, false);
    if (template === undefined) throw fault("python", "template not found");
    const outer = isWithContext ? scope : new Scope(this.#globals, this.#environment.globalsOf(template.name));
    const own = new Scope(outer);
    const text = this.#capture(() => this.#run(template, own));
    const exported = new Map(own.exports());
    return new Members(`'${template.name}'`, (name) => exported.get(name), text);
  }
}

/**
 * Returns a template's text. `names` are its variables, over those of the environment.
 *
 * @throws SaltworksError PILLAR_FAILED, with `line` and `file` if they are known
 */
export function renderTemplate(
  environment: TemplateEnvironment,
  template: ParsedTemplate,
  names: Iterable<readonly [string, Item]>,
): string {
  const rendering = new Rendering(environment);
  return rendering.render(template, names);
}
