/** The text for an error of a pillar file or template, for minions and logs. */
import type { SaltworksError } from "../errors.ts";
import { lineOf } from "./jinja/run/evaluate.ts";

/** Salt's text for an error of a file, with file and line. */
export function faultText(error: SaltworksError): string {
  const prefixes: Readonly<Record<string, string>> = {
    undefined: "Jinja variable ",
    template: "Jinja syntax error: ",
    python: "Jinja error: ",
  };
  const kind = typeof error.detail.kind === "string" ? error.detail.kind : "";
  const line = lineOf(error) ?? error.detail.line;
  const text = "isOfResult" in error && error.isOfResult === true ? " of the rendered text" : "";
  const file = "file" in error && typeof error.file === "string" ? `; file ${error.file}` : "";
  return `${prefixes[kind] ?? ""}${error.message}${line === undefined ? "" : `; line ${line}${text}`}${file}`;
}
