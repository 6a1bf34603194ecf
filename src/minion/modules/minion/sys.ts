/** Execution module `sys`: the functions, their parameters and their documentation. Source: Salt 3007's `sys`, docs/functions.md. */

import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, type FullSignature, signature } from "../declare/signature.ts";

export const sysModule: ModuleFunctions = {
  "sys.list_functions": {
    ...signature("*args, **kwargs"),
    doc: describe(
      "The functions of this minion, of the named modules only, or matching globs.",
      "sys.list_functions sys 'test.*'",
    ),
    run: (context, args) => matching([...context.functions.keys()], args),
  },
  "sys.list_modules": {
    ...signature("*args"),
    doc: describe("The modules of this minion, all or matching globs.", "sys.list_modules 's*'"),
    run: (context, args) => modulesAmong([...context.functions.keys()], args),
  },
  "sys.doc": {
    ...signature("*args"),
    doc: describe(
      "Documentation of functions: all, of a module, of one function, or by a glob.",
      "sys.doc",
      "sys.doc sys.doc network",
    ),
    run: (context, args) => documentation(docsOf(context), args.rest.map(strOf)),
  },
  "sys.argspec": {
    ...signature("module=''"),
    doc: describe("The parameters of functions: of one function, of a module, or by a glob.", "sys.argspec test.ping"),
    run: (context, args) => parameterReport(context, strOf(argument(args, "module"))),
  },
  "sys.reload_modules": {
    ...signature(""),
    doc: describe("Makes the minion load its functions again.", "sys.reload_modules"),
    run: async (context) => {
      await context.fireMinion("module_refresh", {});
      return null;
    },
  },
  "sys.list_runners": {
    ...signature("*args"),
    doc: describe("The runners of this minion's program, all or by globs.", "sys.list_runners 'm*'"),
    run: async (context, args) => modulesAmong(await runnerFunctions(context), args),
  },
  "sys.list_runner_functions": {
    ...signature("*args, **kwargs"),
    doc: describe(
      "The functions of these runners, of the named ones only, or by globs.",
      "sys.list_runner_functions 'jobs.list_*'",
    ),
    run: async (context, args) => matching(await runnerFunctions(context), args),
  },
  "sys.list_returners": {
    ...signature("*args"),
    doc: describe(
      "The returners of this minion that can work here, all or by globs. A returner without its client library is left out.",
      "sys.list_returners 's*'",
    ),
    run: (context, args) => modulesAmong([...context.returners().keys()], args),
  },
  "sys.list_returner_functions": {
    ...signature("*args, **kwargs"),
    doc: describe(
      "The functions of these returners, of the named ones only, or by globs.",
      "sys.list_returner_functions mysql 'p*.returner'",
    ),
    run: (context, args) => matching([...context.returners().keys()], args),
  },
  "sys.returner_doc": {
    ...signature("*args"),
    doc: describe(
      "Documentation of returners: all, of one, of one function, or by a glob.",
      "sys.returner_doc",
      "sys.returner_doc mysql 's*.returner'",
    ),
    run: (context, args) => documentation(context.returners(), args.rest.map(strOf)),
  },
};

/** @throws SaltworksError FUNCTION_FAILED if the program that runs the minion does not supply the names */
async function runnerFunctions({ extras }: CallContext): Promise<readonly string[]> {
  if (extras === undefined) throw commandError("the names of runners are not known here");
  return await extras.runnerFunctions();
}

/** The names that the words select, sorted. A word is a module's name or a glob of whole names. Without words, all names. */
function matching(names: readonly string[], { rest }: BoundArguments): string[] {
  const tests = rest.map(strOf).map((word) => (/[*.]/.test(word) ? globTest(word) : moduleTest(word)));
  return names.filter((name) => tests.length === 0 || tests.some((test) => test(name))).sort();
}

/** The modules of the names that the words select. A word is a module's name or a glob of whole names. */
function modulesAmong(names: readonly string[], { rest }: BoundArguments): string[] {
  const tests = rest.map(strOf).map((word) => (word.includes("*") ? globTest(word) : moduleTest(word)));
  const found = names.filter((name) => tests.length === 0 || tests.some((test) => test(name)));
  return [...new Set(found.map(moduleOf))].sort();
}

function moduleOf(name: string): string {
  return name.slice(0, name.indexOf("."));
}

function moduleTest(module: string): (name: string) => boolean {
  return (name) => moduleOf(name) === module;
}

function globTest(pattern: string): (name: string) => boolean {
  const glob = compileGlob(pattern);
  return (name) => glob.matches(name);
}

function docsOf({ functions }: CallContext): ReadonlyMap<string, string> {
  return new Map(Array.from(functions, ([name, { doc }]) => [name, doc]));
}

function documentation(all: ReadonlyMap<string, string>, words: readonly string[]): Encodable {
  const tests = words.map((word) => {
    if (word.includes("*")) return globTest(word);
    const start = word === "" || word.endsWith(".") ? word : `${word}.`;
    return (name: string) => name === word || name.startsWith(start);
  });
  const docs = new Map<Value, Value>();
  for (const [name, doc] of all) {
    if (tests.length === 0 || tests.some((test) => test(name))) docs.set(name, withoutMarkup(doc));
  }
  return docs;
}

/** Removes lines with Sphinx directives, which operators do not need. */
function withoutMarkup(doc: string): string {
  return doc.replace(/ *\.\. code-block:: \S+\n{1,2}/g, "");
}

function parameterReport(context: CallContext, pattern: string): Encodable {
  const test = /[*.]/.test(pattern) ? globTest(pattern) : moduleTest(pattern);
  const report = new Map<Value, Encodable>();
  for (const [name, definition] of context.functions) if (test(name)) report.set(name, parametersOf(definition));
  return report;
}

function parametersOf(definition: ModuleFunction & FullSignature): Encodable {
  const params = [...definition.params, ...(definition.keywordOnly ?? [])];
  const defaults = params.flatMap((param) => (param.default === undefined ? [] : [param.default]));
  const hasKeywords = definition.kwargs !== undefined && definition.keywordOnly === undefined;
  return {
    args: params.length === 0 ? null : params.map((param) => param.name),
    defaults: defaults.length === 0 ? null : defaults,
    varargs: definition.varargs === undefined ? null : true,
    kwargs: hasKeywords ? true : null,
  };
}
