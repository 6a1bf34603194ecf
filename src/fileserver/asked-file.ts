/** Reads the name in a request for a file: `salt://x?saltenv=dev`. Pure. Source: Salt 3007's `Fileserver.find_file`. */
import { isAbsolute, normalize } from "node:path";
import type { AskedFile } from "./backends/contract/backend.ts";

/** @returns undefined for an invalid name: absolute, with `..`, or with a NUL */
export function askedFile(path: string, environment: string): AskedFile | undefined {
  const isEscaped = path.startsWith("|");
  const [written = "", query = ""] = isEscaped ? [path.replace(/^\|+/, "")] : path.split("?");
  if (isAbsolute(written) || written.includes("\0") || written.split("/").includes("..")) return undefined;
  const name = normalize(written).replace(/\/+$/, "");
  if (name === "" || name === ".") return undefined;
  const options = new Map(
    query.split("&").flatMap((part): [string, string][] => {
      const at = part.indexOf("=");
      return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)]];
    }),
  );
  const index = options.get("index");
  if (index !== undefined && !/^\d{1,6}$/.test(index)) return undefined;
  return {
    name,
    environment: options.get("saltenv") ?? environment,
    rootIndex: index === undefined ? undefined : Number(index),
  };
}
