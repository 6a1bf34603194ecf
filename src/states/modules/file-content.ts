/** The content that `file.managed` wants: from the state, the pillar, grains, or a file of the master, rendered if it is a template. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { strOf } from "../../python/repr.ts";
import { splitLines } from "../../python/text.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateContext } from "../run/contract.ts";

/** `bytes` undefined: any content is right. */
export type Content = { readonly bytes: Uint8Array | undefined; readonly isOfSource: boolean };
/** `isOfForm`: whether the arguments are wrong, which counts before anything else. */
type Fault = { readonly fault: string; readonly isOfForm: boolean };

const inline = ["contents", "contents_pillar", "contents_grains"] as const;

export function isFault(content: Content | Fault): content is Fault {
  return "fault" in content;
}

export async function contentOf(context: StateContext, args: ValueMap): Promise<Content | Fault> {
  const given = inline.filter((name) => (args.get(name) ?? null) !== null);
  const source = args.get("source") ?? null;
  if (isTrue(source) && given.length > 0)
    return ofForm("'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'");
  if (given.length > 1) return ofForm("Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted");
  for (const name of ["context", "defaults"]) {
    const value = args.get(name) ?? null;
    if (isTrue(value) && !(value instanceof Map))
      return ofForm(`${name === "context" ? "Context" : "Defaults"} must be formed as a dict`);
  }
  const [name] = given;
  if (name !== undefined) return await inlineContent(context, args, name);
  if (!isTrue(source)) return { bytes: undefined, isOfSource: false };
  return await sourceContent(context, args, Array.isArray(source) ? source : [source]);
}

function ofForm(fault: string): Fault {
  return { fault, isOfForm: true };
}

async function inlineContent(
  context: StateContext,
  args: ValueMap,
  name: (typeof inline)[number],
): Promise<Content | Fault> {
  const value = name === "contents" ? (args.get(name) ?? null) : await looked(context, args, name);
  if (value instanceof Map && value.has("__fault__")) return ofForm(strOf(value.get("__fault__") ?? null));
  if (!isTrue(args.get("allow_empty") ?? true) && !isTrue(value)) {
    const shown = name === "contents" ? "'contents'" : `${name} ${strOf(args.get(name) ?? null)}`;
    return ofForm(
      `${shown} value would result in empty contents. Set allow_empty to True to allow the managed file to be empty.`,
    );
  }
  const lines = (Array.isArray(value) ? value.map(strOf) : [strOf(value)]).flatMap(splitLines);
  let text = lines.map((line) => `${line}\n`).join("");
  if (!isTrue(args.get("contents_newline") ?? true)) text = text.replace(/[\n\r]+$/, "");
  if (isTrue(args.get("template") ?? null)) {
    const rendered = await renderedText(context, args, text);
    if (typeof rendered !== "string") return { fault: rendered.fault, isOfForm: true };
    text = rendered;
  }
  return { bytes: Buffer.from(text), isOfSource: false };
}

/** The value of a pillar key or grain, or the values of several as lines. */
async function looked(
  { host }: StateContext,
  args: ValueMap,
  name: "contents_pillar" | "contents_grains",
): Promise<Value> {
  const [fun, kind] = name === "contents_pillar" ? ["pillar.get", "Pillar"] : ["grains.get", "Grain"];
  const asked = args.get(name) ?? null;
  const missing = "\u0000not found";
  const found: Value[] = [];
  for (const key of Array.isArray(asked) ? asked : [asked]) {
    const keywords = new Map<Value, Value>([["delimiter", args.get("contents_delimiter") ?? ":"]]);
    const { value } = await host.call(fun ?? "", [key, missing], keywords);
    if (value === missing) return new Map([["__fault__", `${kind} ${strOf(key)} does not exist`]]);
    found.push(value);
  }
  return Array.isArray(asked) ? found.map(strOf).join("\n") : (found[0] ?? null);
}

async function sourceContent(
  context: StateContext,
  args: ValueMap,
  sources: readonly Value[],
): Promise<Content | Fault> {
  const { host, saltenv } = context;
  const names = sources
    .map((source) => (source instanceof Map ? [...source.keys()][0] : source))
    .map((name) => strOf(name ?? null));
  for (const name of names) {
    const path = name.startsWith("file://") ? name.slice("file://".length) : name;
    if (!name.startsWith("salt://") && !isAbsolute(path))
      return { fault: `${name} as a source is not supported by this program's states`, isOfForm: true };
    const bytes = isAbsolute(path) ? ownFile(host.exists(path) ? path : undefined) : await host.read(name, saltenv);
    if (bytes === undefined) continue;
    if (!isTrue(args.get("template") ?? null)) return { bytes, isOfSource: true };
    const text = await renderedText(context, args, Buffer.from(bytes).toString("utf8"));
    return typeof text === "string" ? { bytes: Buffer.from(text), isOfSource: true } : { ...text, isOfForm: false };
  }
  const [first = ""] = names;
  if (names.length > 1) return { fault: "none of the specified sources were found", isOfForm: false };
  return { fault: `Source file ${first} not found in saltenv '${saltenv}'`, isOfForm: false };
}

function ownFile(path: string | undefined): Uint8Array | undefined {
  return path === undefined ? undefined : readFileSync(path);
}

async function renderedText(
  { host, saltenv }: StateContext,
  args: ValueMap,
  text: string,
): Promise<string | { readonly fault: string }> {
  const engine = args.get("template");
  if (engine !== "jinja")
    return { fault: `template: ${strOf(engine ?? null)} is not supported by this program's states` };
  const variables: ValueMap = new Map();
  for (const name of ["defaults", "context"]) {
    const values = args.get(name);
    if (values instanceof Map) for (const [key, value] of values) variables.set(key, value);
  }
  try {
    return await host.render(text, saltenv, variables);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
