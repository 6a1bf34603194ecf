/**
 * The lists of cases in each vector file, declared here and not by the tests that run them.
 * A file, or a top-level member of one, that is not declared here fails the tests.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../root.ts";
import type { Json, JsonMap } from "./view.ts";

export const vectorsFolder = join(repositoryRoot, "test", "vectors");

export function readVectors(file: string): JsonMap {
  return JSON.parse(readFileSync(join(vectorsFolder, file), "utf8")) as JsonMap;
}

/** `lists`: members that hold cases, by their structure. `about`: members that only describe. */
type Shape = { readonly lists: Readonly<Record<string, Holder>>; readonly about: readonly string[] };
type Holder = "list" | "one" | "map" | "sets" | "sequence" | "releases" | "releaseLists";

const exchangesShape: Shape = { lists: { exchanges: "list" }, about: ["meta"] };
const eventsShape: Shape = { lists: { events: "list" }, about: ["recorded_with", "source"] };

const shapes: Readonly<Record<string, Shape>> = {
  "crypticle.json": { lists: { sets: "sets", negative: "list", serial_sequence: "sequence" }, about: ["note"] },
  "events_3006.json": eventsShape,
  "events_3007.json": eventsShape,
  "exchanges_3006.json": exchangesShape,
  "exchanges_3007.json": exchangesShape,
  "exchanges_3008_sha224_filtering.json": exchangesShape,
  "exchanges_3008_signed_returns.json": exchangesShape,
  "ipc_frames.json": { lists: { by_release: "releaseLists" }, about: ["note"] },
  "jobcache.json": { lists: { by_release: "releases" }, about: ["note"] },
  "msgpack.json": { lists: { cases: "list", decode_only: "list" }, about: ["note"] },
  "rsa_keys.json": { lists: { keys: "map", clean_key_cases: "list" }, about: [] },
  "rsa_oaep.json": { lists: { cases: "list" }, about: ["note"] },
  "rsa_sign.json": { lists: { cases: "list", master_sign_pubkey: "one" }, about: [] },
  "rsa_x931.json": { lists: { cases: "list" }, about: ["note"] },
  "trim.json": { lists: { cases: "list" }, about: ["recorded_with", "python"] },
};

/** Files whose cases other tests run, with the reason. */
export const runElsewhere: Readonly<Record<string, string>> = {
  "nodegroups.json": "nodegroup expansion and matching are src/target's: test/target runs them",
  "peer-rules.json": "what minions may publish is src/master's: test/master/answers/peers.test.ts runs all",
  "permissions.json": "what users may do is src/master's: test/master/operators/permissions.test.ts runs all",
};

/** One name for each case in the file, such as `sets/1/cases/3`. */
export function caseNamesOf(file: string, data: JsonMap): string[] {
  const shape = shapes[file];
  if (shape === undefined) throw new Error(`${file} is not described in test/wire/vectors/cases.ts`);
  const known = new Set([...Object.keys(shape.lists), ...shape.about]);
  const unknown = Object.keys(data).filter((key) => !known.has(key));
  if (unknown.length > 0) throw new Error(`${file} has members that are not described: ${unknown.join(", ")}`);
  return Object.entries(shape.lists).flatMap(([key, holder]) => namesIn(holder, key, data[key] ?? null));
}

function namesIn(holder: Holder, path: string, value: Json): string[] {
  switch (holder) {
    case "one":
      return [path];
    case "list":
      return indexes(value).map((index) => `${path}/${index}`);
    case "map":
      return members(value).map(([key]) => `${path}/${key}`);
    case "sets":
      return indexes(value).flatMap((index) => namesIn("list", `${path}/${index}/cases`, at(value, index, "cases")));
    case "sequence":
      return namesIn("list", `${path}/messages`, at(value, "messages"));
    case "releases":
      return members(value).flatMap(([release, list]) => namesIn("list", `${path}/${release}`, list));
    case "releaseLists":
      return members(value).flatMap(([release, lists]) =>
        members(lists).flatMap(([key, list]) => namesIn("list", `${path}/${release}/${key}`, list)),
      );
  }
}

function indexes(value: Json): number[] {
  if (!Array.isArray(value)) throw new Error("expected a list of cases");
  return value.map((_, index) => index);
}

function members(value: Json): [string, Json][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("expected a map of cases");
  return Object.entries(value);
}

function at(value: Json, ...path: (string | number)[]): Json {
  let current: Json = value;
  for (const step of path) current = (current as Record<string | number, Json>)[step] ?? null;
  return current;
}
