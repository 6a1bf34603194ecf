/** Execution module `test`: functions that show the arguments they were called with. */
import { reprOf } from "../../../python/repr.ts";
import { typeName } from "../../../python/values.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { ownKeywords, signature } from "../declare/signature.ts";

export const argumentFunctions: ModuleFunctions = {
  "test.arg": {
    ...signature("*args, **kwargs"),
    doc: describe("Returns its arguments, by place and by name.", "test.arg 1 'two' 3.1 wow='WOW' env='{a: 1}'"),
    run: (_, args) => ({ args: args.rest, kwargs: args.extra }),
  },
  "test.arg_clean": {
    ...signature("*args, **kwargs"),
    doc: describe("Like test.arg, without the job's own fields.", "test.arg_clean 1 'two' wow='WOW'"),
    run: (_, args) => ({ args: args.rest, kwargs: ownKeywords(args) }),
  },
  "test.kwarg": {
    ...signature("**kwargs"),
    doc: describe("Returns its named arguments.", "test.kwarg num=1 txt='two' env='{a: 1, b: hello}'"),
    run: (_, args) => args.extra,
  },
  "test.arg_type": {
    ...signature("*args, **kwargs"),
    doc: describe("Returns the types of its arguments.", "test.arg_type 1 'int' true"),
    run: (_, args) => ({ args: args.rest.map(typeText), kwargs: typesOf(args.extra) }),
  },
  "test.arg_repr": {
    ...signature("*args, **kwargs"),
    doc: describe("Returns its arguments as Python would write them.", "test.arg_repr 1 'two' true"),
    run: (_, args) => ({ args: tupleText(args.rest), kwargs: reprOf(args.extra) }),
  },
};

function typeText(value: Value): string {
  return `<class '${typeName(value)}'>`;
}

function typesOf(keywords: ValueMap): Encodable {
  return new Map(Array.from(keywords, ([name, value]): [Value, Value] => [name, typeText(value)]));
}

/** Python's text of a tuple. A single member has a comma behind it. */
function tupleText(values: readonly Value[]): string {
  return `(${values.map(reprOf).join(", ")}${values.length === 1 ? "," : ""})`;
}
