/** Execution module `test`: functions that fail on purpose, and one that catches a failure. */

import { SaltworksError } from "../../../errors.ts";
import { reprOf, strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import {
  argumentError,
  commandError,
  commandNotFound,
  invocationError,
  pythonException,
} from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, signature } from "../declare/signature.ts";

/** Python's exceptions that take any arguments. */
const builtinExceptions = new Set(
  (
    "ArithmeticError AssertionError AttributeError BufferError EOFError Exception FloatingPointError IOError ImportError " +
    "IndexError KeyError LookupError MemoryError ModuleNotFoundError NameError NotImplementedError OSError OverflowError " +
    "RecursionError ReferenceError RuntimeError StopIteration SyntaxError SystemError TypeError ValueError Warning ZeroDivisionError"
  ).split(" "),
);

/** Salt's exceptions. Returns show each of the first three in a special form. */
const saltExceptions = new Map<string, (text: string) => SaltworksError>([
  ["CommandExecutionError", commandError],
  ["CommandNotFoundError", commandNotFound],
  ["SaltInvocationError", invocationError],
  ...["SaltException", "SaltClientError", "SaltReqTimeoutError", "SaltRenderError", "TimedProcTimeoutError"].map(
    (name): [string, (text: string) => SaltworksError] => [
      name,
      (text) => pythonException(`salt.exceptions.${name}`, text),
    ],
  ),
]);

export const failureFunctions: ModuleFunctions = {
  "test.exception": {
    ...signature("message='Test Exception'"),
    doc: describe("Raises an exception with the given message.", "test.exception 'Oh noes!'"),
    run: (_, args) => {
      throw pythonException("Exception", strOf(argument(args, "message")));
    },
  },
  "test.raise_exception": {
    ...signature("name, *args, **kwargs"),
    doc: describe(
      "Raises the exception of that name, Python's or `salt.exceptions.<name>`, with the arguments that follow.",
      "test.raise_exception TypeError 'An error'",
      "test.raise_exception salt.exceptions.CommandExecutionError boom",
    ),
    run: (context, args) => raise(context, strOf(argument(args, "name")), args.rest, ownKeywords(args).size > 0),
  },
  "test.assertion": {
    ...signature("assertion"),
    doc: describe("Fails unless its argument is true.", "test.assertion False"),
    run: (_, args) => {
      if (!isTrue(argument(args, "assertion"))) throw pythonException("AssertionError", "");
      return null;
    },
  },
  "test.try": {
    ...signature("module, return_try_exception=False, **kwargs"),
    pythonName: "try_",
    doc: describe(
      "Runs another function with the named arguments; None if it fails, or the error's text with `return_try_exception`.",
      "test.try module=test.echo text=hello",
    ),
    run: async (context, args) => {
      try {
        return await context.callFunction(strOf(argument(args, "module")), [], ownKeywords(args));
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        return isTrue(argument(args, "return_try_exception")) ? error.message : null;
      }
    },
  },
};

function raise(context: CallContext, name: string, args: readonly Value[], hasKeywords: boolean): false {
  const saltName = name.startsWith("salt.exceptions.") ? name.slice("salt.exceptions.".length) : undefined;
  const make =
    saltName === undefined
      ? builtinExceptions.has(name)
        ? builtinError(name)
        : undefined
      : saltExceptions.get(saltName);
  if (make === undefined) {
    context.log.error(`No such exception: ${name}`);
    return false;
  }
  if (hasKeywords) throw argumentError(`${saltName ?? name}() takes no keyword arguments`);
  throw make(exceptionText(name, args));
}

function builtinError(name: string): (text: string) => SaltworksError {
  return name === "TypeError" ? argumentError : (text) => pythonException(name === "IOError" ? "OSError" : name, text);
}

/** `str(exception)`: the one argument, or all of them as a tuple. */
function exceptionText(name: string, args: readonly Value[]): string {
  const [first, second] = args;
  if (first === undefined) return "";
  if (second === undefined) return name === "KeyError" ? reprOf(first) : strOf(first);
  if ((name === "OSError" || name === "IOError") && args.length === 2) {
    return `[Errno ${strOf(first)}] ${strOf(second)}`;
  }
  return `(${args.map(reprOf).join(", ")})`;
}
