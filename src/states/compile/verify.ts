/** Checks the form of high data. The sentences are Salt's, which operators and scripts know. */
import { strOf } from "../../python/repr.ts";
import { typeName } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { HighData } from "./contract.ts";
import { firstOf, isOwnKey, shown } from "./read.ts";

/** A state of one id: where it stands, for the sentences. */
type Place = { readonly id: string; readonly module: string; readonly sls: string };
/** By id: the module of the state with requisites, and what it requires. */
type Requisites = Map<Value, { readonly module: string; readonly required: Map<Value, string> }>;

const checked = new Set(["require", "watch", "prereq", "onchanges"]);

export function faultsOf(high: HighData): string[] {
  const errors: string[] = [];
  const requisites: Requisites = new Map();
  for (const [id, body] of high) {
    if (isOwnKey(id)) continue;
    if (typeof id !== "string") {
      const sls = body instanceof Map ? strOf(body.get("__sls__") ?? null) : "";
      const type = typeName(id);
      errors.push(
        `ID '${strOf(id)}' in SLS '${sls}' is not formed as a string, but is a ${type}. It may need to be quoted.`,
      );
    }
    if (body instanceof Map) bodyFaults(id, body, requisites, errors);
    else errors.push(`The type ${strOf(id)} in ${shown(body)} is not formatted as a dictionary`);
  }
  return errors;
}

function bodyFaults(id: Value, body: ValueMap, requisites: Requisites, errors: string[]): void {
  const sls = strOf(body.get("__sls__") ?? null);
  for (const [key, run] of body) {
    if (isOwnKey(key)) continue;
    const place = { id: strOf(id), module: strOf(key), sls };
    if (run === null)
      errors.push(
        `ID '${place.id}' in SLS '${sls}' contains a short declaration (${place.module}) with a trailing colon. ` +
          "When not passing any arguments to a state, the colon must be omitted.",
      );
    else if (Array.isArray(run)) runFaults(id, place, run, requisites, errors);
    else errors.push(`State '${place.id}' in SLS '${sls}' is not formed as a list`);
  }
}

function runFaults(id: Value, place: Place, run: readonly Value[], requisites: Requisites, errors: string[]): void {
  const functions = place.module.includes(".") ? [place.module.slice(place.module.indexOf(".") + 1)] : [];
  for (const argument of run) {
    if (typeof argument === "string") {
      functions.push(argument);
      if (argument.trim().includes(" "))
        errors.push(
          `The function "${argument}" in state "${place.id}" in SLS "${place.sls}" has whitespace, a function with ` +
            'whitespace is not supported, perhaps this is an argument that is missing a ":"',
        );
    } else if (argument instanceof Map) argumentFaults(id, place, argument, requisites, errors);
  }
  if (functions.length === 0 && place.module !== "require" && place.module !== "watch")
    errors.push(`No function declared in state '${place.id}' in SLS '${place.sls}'`);
  if (functions.length > 1)
    errors.push(
      `Too many functions declared in state '${place.id}' in SLS '${place.sls}'. ` +
        `Please choose one of the following: ${functions.join(", ")}`,
    );
}

function argumentFaults(id: Value, place: Place, argument: ValueMap, requisites: Requisites, errors: string[]): void {
  const [name = "", value = null] = firstOf(argument) ?? [];
  if (name === "names" && !Array.isArray(value))
    errors.push(`The 'names' argument in state '${place.id}' in SLS '${place.sls}' needs to be formed as a list`);
  if (!checked.has(name)) return;
  if (!Array.isArray(value)) {
    errors.push(`The ${name} statement in state '${place.id}' in SLS '${place.sls}' needs to be formed as a list`);
    return;
  }
  const required = new Map<Value, string>();
  requisites.set(id, { module: place.module, required });
  for (const requisite of value) requisiteFaults(id, place, requisite, required, requisites, errors);
  if (argument.size !== 1)
    errors.push(`Multiple dictionaries defined in argument of state '${place.id}' in SLS '${place.sls}'`);
}

function requisiteFaults(
  id: Value,
  place: Place,
  requisite: Value,
  required: Map<Value, string>,
  requisites: Requisites,
  errors: string[],
): void {
  const first = typeof requisite === "string" ? (["id", requisite] as const) : firstOf(requisite);
  if (first === undefined) {
    errors.push(
      `Requisite declaration ${shown(requisite)} in SLS ${place.sls} is not formed as a single key dictionary`,
    );
    return;
  }
  const [key, value] = first;
  if (key.includes("."))
    errors.push(
      `Invalid requisite type '${key}' in state '${place.id}', in SLS '${place.sls}'. ` +
        `Requisite types must not contain dots, did you mean '${key.slice(0, key.indexOf("."))}'?`,
    );
  if (Array.isArray(value)) {
    errors.push(`Illegal requisite "${shown(value)}", please check your syntax.\n`);
    return;
  }
  required.set(value, key);
  const other = requisites.get(value);
  if (other?.required.get(id) === place.module && other.module === key)
    errors.push(`A recursive requisite was found, SLS "${place.sls}" ID "${place.id}" ID "${strOf(value)}"`);
}
