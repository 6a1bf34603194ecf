/** `cp.get_template`: renders a file and writes the result. Source: Salt 3007's `cp` and file client, docs/functions.md. */

import { dirname } from "node:path";
import { isDirectory } from "../../../config/files/kinds.ts";
import { hasCode } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument, ownKeywords } from "../declare/signature.ts";
import { readTemplateChoice, renderer } from "../declare/text-template.ts";
import { makeDirectories } from "../machine/make-directories.ts";
import { externalPath, onePiece, writePieces } from "./file-cache.ts";
import { cached } from "./files.ts";
import { readIfAny } from "./local-roots.ts";
import { environmentOf } from "./master-file.ts";

/** Rendered files may hold secrets. */
const fileMode = 0o600;
const known = new Set(["pillar", "pillarenv"]);

/** @returns the path; an empty text if the file or its directory does not exist, or if rendering fails, which is logged */
export async function getTemplate(context: CallContext, args: BoundArguments): Promise<string> {
  const unknown = [...ownKeywords(args).keys()].map(strOf).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw commandError(`${unknown.join(", ")}: template variables of the caller are not supported by this minion`);
  const source = strOf(argument(args, "path"));
  const saltenv = argument(args, "saltenv");
  const choice = readTemplateChoice(context, (name) => args.named[name] ?? args.extra.get(name) ?? null);
  const path = await cached(context, source, saltenv, null);
  const content = path === false ? undefined : readIfAny(path);
  if (content === undefined) return "";
  let rendered: string;
  try {
    const render = await renderer(context, choice);
    rendered = await render(content.toString("utf8"));
  } catch (error) {
    if (!hasCode(error, "FUNCTION_FAILED")) throw error;
    context.log.error(`Failed to render template with error: ${(error as Error).message}`);
    return "";
  }
  const given = strOf(argument(args, "dest"));
  const destination = given === "" ? externalPath(context, new URL(source), environmentOf(context, saltenv)) : given;
  const folder = dirname(destination);
  if (given === "" || isTrue(argument(args, "makedirs"))) makeDirectories(folder);
  if (!isDirectory(folder)) return "";
  await writePieces(destination, onePiece(Buffer.from(rendered)), fileMode);
  return destination;
}
