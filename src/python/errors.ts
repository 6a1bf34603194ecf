/** Makes the error that stands for a Python exception, with its class and text. */
import { SaltworksError } from "../errors.ts";

export type PythonErrorName =
  | "Error"
  | "TypeError"
  | "ValueError"
  | "OverflowError"
  | "ZeroDivisionError"
  | "IndexError"
  | "KeyError";

/** @returns PYTHON_RAISED with the class in `detail.name` */
export function raised(name: PythonErrorName, text: string): SaltworksError {
  const error = new SaltworksError("PYTHON_RAISED", text, { kind: "python", name });
  Error.captureStackTrace(error, raised);
  return error;
}
