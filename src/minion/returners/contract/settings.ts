/**
 * Settings of returners, from the minion's configuration, grains, pillar or the master's configuration in the pillar.
 * `ret_config` names an alternative set, `ret_kwargs` wins over all. Source: Salt 3007's `get_returner_options`.
 */
import { printedOf, strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { findSetting, type SettingContext, sourcesOf } from "../../modules/declare/settings.ts";
import { returnerError } from "./errors.ts";

export class ReturnerSettings {
  readonly #context: SettingContext;
  readonly #ret: ValueMap;
  #sources: readonly ValueMap[] | undefined;

  constructor(context: SettingContext, ret: ValueMap) {
    this.#context = context;
    this.#ret = ret;
  }

  /**
   * The options of one returner. `options`: each option's default; undefined for none. Options without value and default are left out.
   *
   * @param prefix - `mysql` for options such as `mysql.host`
   */
  of(prefix: string, options: { readonly [option: string]: Value | undefined }): Options {
    const found = new Map<string, Value>();
    for (const [option, fallback] of Object.entries(options)) {
      const value = this.#fetch(prefix, option);
      if (value !== null && value !== "") found.set(option, value);
      else if (fallback !== undefined) found.set(option, fallback);
    }
    const given = this.#ret.get("ret_kwargs");
    if (given instanceof Map) for (const [name, value] of given) found.set(strOf(name), value);
    return new Options(prefix, found);
  }

  /** A setting by its whole name; an empty text if no source has it. */
  option(name: string): Value {
    this.#sources ??= sourcesOf(this.#context);
    for (const source of this.#sources) {
      const found = source.get(name);
      if (found !== undefined) return found;
    }
    return "";
  }

  /** A setting by its path: `splunk_http_forwarder:token`; an empty text if no source has it. */
  at(path: string): Value {
    return findSetting(this.#context, path) ?? "";
  }

  #fetch(prefix: string, option: string): Value {
    const alternative = this.#ret.has("ret_config") ? strOf(this.#ret.get("ret_config") ?? null) : "";
    if (alternative !== "") {
      const own = this.#member(`${alternative}.${prefix}`, option);
      if (isTrue(own)) return own;
    }
    return this.#member(prefix, option);
  }

  /** `prefix: {option: value}` wins over `prefix.option: value`. */
  #member(prefix: string, option: string): Value {
    const map = this.option(prefix);
    const member = map instanceof Map ? map.get(option) : undefined;
    return member === undefined ? this.option(`${prefix}.${option}`) : member;
  }
}

/** The options that one returner found. */
export class Options {
  readonly #prefix: string;
  readonly #values: ReadonlyMap<string, Value>;

  constructor(prefix: string, values: ReadonlyMap<string, Value>) {
    this.#prefix = prefix;
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  value(name: string): Value {
    return this.#values.get(name) ?? null;
  }

  isOn(name: string): boolean {
    return isTrue(this.value(name));
  }

  /** The text of an option; undefined if it is not set or `None`. */
  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === null || value === "") return undefined;
    return printedOf(value);
  }

  /** @throws SaltworksError RETURNER_FAILED that names the option */
  demand(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw returnerError(`${this.#prefix}.${name} is not set`);
    return text;
  }

  /** @throws SaltworksError RETURNER_FAILED that names the option */
  port(name: string, fallback?: number): number {
    const text = this.text(name) ?? fallback?.toString();
    const port = Number(text ?? Number.NaN);
    if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
    const why = text === undefined ? "is not set" : `is not a port: ${text}`;
    throw returnerError(`${this.#prefix}.${name} ${why}`);
  }
}
