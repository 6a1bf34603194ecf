/**
 * `salt['cp.get_file_str']` in a pillar's template: the text of a local or served file of the master.
 * A template may put grains into the path, and minions choose their grains. Therefore rejects `..`, which Salt follows.
 */

import { demand, type Item } from "../python/values.ts";
import { isInside, type PillarFiles } from "./input/files.ts";
import { dynamicRoots } from "./input/roots.ts";
import type { PillarSettings } from "./input/settings.ts";
import type { Bound } from "./jinja/values/arguments.ts";
import { fault } from "./jinja/values/objects.ts";

const served = "salt://";
const local = "file://";

/** @returns the text; False if there is no such file, as in Salt @throws SaltworksError PILLAR_FAILED if the file is too large or not UTF-8 */
export function fileText(files: PillarFiles, settings: PillarSettings, args: Bound): Item {
  const path = demand(args.need("path"));
  if (typeof path !== "string") throw fault("python", "cp.get_file_str() takes a path");
  if (path.startsWith(served))
    return servedText(files, settings, path.slice(served.length), args.text("saltenv", "base"));
  const full = path.startsWith(local) ? path.slice(local.length) : path;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(full))
    throw fault("template", `cp.get_file_str does not read ${path.replace(/:.*/s, "")} addresses`);
  if (!full.startsWith("/")) throw fault("template", `Path '${path}' is not absolute`);
  if (full.split("/").includes("..") || full.includes("\0"))
    throw fault("template", `cp.get_file_str refuses '..' in '${path}'`);
  return files.readAt(full)?.text ?? false;
}

function servedText(files: PillarFiles, settings: PillarSettings, address: string, saltenv: string): Item {
  const [path = "", query = ""] = address.split("?", 2);
  const environment = /^saltenv=(.+)$/.exec(query)?.[1] ?? saltenv;
  if (!isInside(path)) return false;
  const roots = dynamicRoots(settings.fileRoots, environment).get(environment) ?? [];
  return files.read(roots, path)?.text ?? false;
}
