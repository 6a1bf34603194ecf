/** Values of a YAML file with the line of each, so that an error names the file and the line that are wrong. */
import { readFileSync } from "node:fs";
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { SaltworksError } from "../../src/errors.ts";

const fileBytesMax = 1024 * 1024;

/** A place in the file, with its value. */
export class Place {
  readonly #file: string;
  readonly #counter: LineCounter;
  readonly #node: Node | null | undefined;
  readonly #path: string;
  readonly #line: number;

  constructor(file: string, counter: LineCounter, node: Node | null | undefined, at: { path: string; line: number }) {
    this.#file = file;
    this.#counter = counter;
    this.#node = node;
    this.#path = at.path;
    this.#line = node?.range ? counter.linePos(node.range[0]).line : at.line;
  }

  refuse(fault: string): SaltworksError {
    const subject = this.#path === "" ? "" : ` ${this.#path}:`;
    return new SaltworksError("USAGE", `${this.#file}:${this.#line}:${subject} ${fault}`);
  }

  get isMissing(): boolean {
    return this.#node === undefined || (isScalar(this.#node) && this.#node.value === null);
  }

  get isMap(): boolean {
    return isMap(this.#node);
  }

  /** The plain value. */
  get value(): unknown {
    return this.#node?.toJSON();
  }

  /** The members of a map. @throws SaltworksError USAGE for a name that is not `known` */
  members(known: readonly string[]): (name: string) => Place {
    const node = this.#node;
    if (!isMap(node)) throw this.refuse(`takes a map with ${known.join(", ")}`);
    for (const { key } of node.items) {
      const name = isScalar(key) ? String(key.value) : String(key);
      if (known.includes(name)) continue;
      throw this.#at(key as Node, name).refuse(`there is no such member; there are: ${known.join(", ")}`);
    }
    return (name) => {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      return this.#at(pair?.value as Node | undefined, name);
    };
  }

  items(): Place[] {
    if (!isSeq(this.#node)) throw this.refuse("takes a list");
    return this.#node.items.map((item, index) => this.#at(item as Node, String(index + 1)));
  }

  text(byDefault?: string): string {
    if (this.isMissing && byDefault !== undefined) return byDefault;
    const { value } = this;
    if (typeof value === "string" && value !== "") return value;
    throw this.refuse(this.isMissing ? "is missing: it takes a text" : `takes a text, not ${JSON.stringify(value)}`);
  }

  /** A number from `min` to `max`. `isWhole`: without a fraction. */
  number(o: { min: number; max: number; byDefault?: number; isWhole?: boolean }): number {
    if (this.isMissing && o.byDefault !== undefined) return o.byDefault;
    const { value } = this;
    const isRight = typeof value === "number" && value >= o.min && value <= o.max;
    if (isRight && (o.isWhole !== true || Number.isInteger(value))) return value;
    const range = `${o.isWhole === true ? "a whole number" : "a number"} from ${o.min} to ${o.max.toLocaleString("en-US")}`;
    throw this.refuse(
      this.isMissing ? `is missing: it takes ${range}` : `takes ${range}, not ${JSON.stringify(value)}`,
    );
  }

  boolean(byDefault: boolean): boolean {
    if (this.isMissing) return byDefault;
    const { value } = this;
    if (typeof value === "boolean") return value;
    throw this.refuse(`takes true or false, not ${JSON.stringify(value)}`);
  }

  oneOf<Choice extends string>(choices: readonly Choice[], byDefault?: Choice): Choice {
    if (this.isMissing && byDefault !== undefined) return byDefault;
    const { value } = this;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw this.refuse(`takes one of ${choices.join(", ")}${this.isMissing ? "" : `, not ${JSON.stringify(value)}`}`);
  }

  /** What `parse` makes of the text or number here. Its own error is told with the line. */
  parsed<Result>(parse: (text: string) => Result, byDefault?: string): Result {
    const { value } = this;
    const text = this.isMissing ? byDefault : typeof value === "number" ? String(value) : value;
    if (typeof text !== "string") throw this.refuse(this.isMissing ? "is missing" : "takes a text or a number");
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof SaltworksError) throw this.refuse(error.message);
      throw error;
    }
  }

  #at(node: Node | null | undefined, name: string): Place {
    const path = this.#path === "" ? name : `${this.#path}.${name}`;
    return new Place(this.#file, this.#counter, node, { path, line: this.#line });
  }
}

/** @throws SaltworksError USAGE for a file that cannot be read, or is not YAML */
export function readYamlFile(file: string): { readonly root: Place; readonly text: string } {
  const text = textOf(file);
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const [fault] = document.errors;
  if (fault !== undefined) {
    throw new SaltworksError("USAGE", `${file}:${counter.linePos(fault.pos[0]).line}: ${fault.message}`);
  }
  return { root: new Place(file, counter, document.contents as Node | null, { path: "", line: 1 }), text };
}

function textOf(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new SaltworksError("USAGE", `the workload file cannot be read: ${(error as Error).message}`);
  }
  if (bytes.length > fileBytesMax) throw new SaltworksError("USAGE", `${file} has more than ${fileBytesMax} bytes`);
  return bytes.toString("utf8");
}
