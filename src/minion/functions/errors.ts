/** Makers of the errors of execution functions: the kinds of exception that Salt shows with different texts in a job's return. */
import { SaltworksError } from "../../errors.ts";

/** Salt's CommandExecutionError: the return is `ERROR: <text>`. */
export function commandError(text: string): SaltworksError {
  return from(commandError, new SaltworksError("FUNCTION_FAILED", text, { kind: "command" }));
}

/** Salt's CommandNotFoundError: the return is `Command required for '<fun>' not found: <text>`. */
export function commandNotFound(text: string): SaltworksError {
  return from(commandNotFound, new SaltworksError("FUNCTION_FAILED", text, { kind: "not-found" }));
}

/** Salt's SaltInvocationError: the return is `ERROR executing '<fun>': <text>`. */
export function invocationError(text: string): SaltworksError {
  return from(invocationError, new SaltworksError("FUNCTION_ARGUMENTS", text, { kind: "invocation" }));
}

/** Python's TypeError: the return is `Passed invalid arguments to <fun>: <text>`, then the function's documentation. */
export function argumentError(text: string): SaltworksError {
  return from(argumentError, new SaltworksError("FUNCTION_ARGUMENTS", text, { kind: "type" }));
}

/** Any other Python exception, by class name: the return is `The minion function caused an exception: Traceback ...<name>: <text>`. */
export function pythonException(name: string, text: string): SaltworksError {
  return from(pythonException, new SaltworksError("FUNCTION_FAILED", text, { kind: "python", name }));
}

/** Makes the traceback start where the function fails, not in this file. */
function from(maker: (...texts: string[]) => SaltworksError, error: SaltworksError): SaltworksError {
  Error.captureStackTrace(error, maker);
  return error;
}
