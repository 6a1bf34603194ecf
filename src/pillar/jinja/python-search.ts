/**
 * Python's regular expressions with groups, for `regex_search` and its kin: translated to JavaScript's. What cannot be translated
 * without a difference is refused. A pattern that runs away ends with the lane's thread.
 */
import { SaltworksError } from "../../errors.ts";
import { parsePythonRegex } from "../../target/python-regex.ts";
import { typeFault } from "./values.ts";

const insideClass: Readonly<Record<string, string>> = { d: "\\p{Nd}", w: "\\p{L}\\p{N}_", s: "\\s\\x1c-\\x1f\\x85" };
const outside: Readonly<Record<string, string>> = {
  d: "\\p{Nd}",
  D: "\\P{Nd}",
  w: "[\\p{L}\\p{N}_]",
  W: "[^\\p{L}\\p{N}_]",
  s: "[\\s\\x1c-\\x1f\\x85]",
  S: "[^\\s\\x1c-\\x1f\\x85]",
  A: "(?<![\\s\\S])",
  Z: "(?![\\s\\S])",
  b: "(?:(?<=[\\p{L}\\p{N}_])(?![\\p{L}\\p{N}_])|(?<![\\p{L}\\p{N}_])(?=[\\p{L}\\p{N}_]))",
  B: "(?:(?<=[\\p{L}\\p{N}_])(?=[\\p{L}\\p{N}_])|(?<![\\p{L}\\p{N}_])(?![\\p{L}\\p{N}_]))",
  a: "\\x07",
};

class Translator {
  readonly #source: readonly string[];
  readonly #isMultiline: boolean;
  #at = 0;
  #inClass = false;

  constructor(source: string, isMultiline: boolean) {
    this.#source = Array.from(source);
    this.#isMultiline = isMultiline;
  }

  run(): string {
    let out = "";
    while (this.#at < this.#source.length) out += this.#step();
    return out;
  }

  #step(): string {
    const letter = this.#source[this.#at] ?? "";
    this.#at += 1;
    if (letter === "\\") return this.#escape();
    if (this.#inClass) return this.#classLetter(letter);
    if (letter === "[") return this.#openClass();
    if (letter === "$") return this.#isMultiline ? "(?=\\n|(?![\\s\\S]))" : "(?=\\n?(?![\\s\\S]))";
    if (letter === "^" && this.#isMultiline) return "(?<![^\\n])";
    if (letter === ".") return "[^\\n]";
    if (letter === "(" && this.#source[this.#at] === "?") return this.#group();
    if (letter === "]" || letter === "}") return `\\${letter}`;
    if (letter === "{") return this.#repeat();
    return letter === "/" ? "\\/" : letter;
  }

  /** A brace that counts nothing is a brace. */
  #repeat(): string {
    const found = /^(\d*)(,?)(\d*)\}/.exec(this.#source.slice(this.#at, this.#at + 24).join(""));
    if (found === null || (found[1] === "" && found[3] === "")) return "\\{";
    this.#at += found[0].length;
    return `{${found[1] === "" ? "0" : found[1]}${found[2]}${found[3]}}`;
  }

  #openClass(): string {
    this.#inClass = true;
    let out = "[";
    if (this.#source[this.#at] === "^") {
      out += "^";
      this.#at += 1;
    }
    // A bracket that comes first is a member.
    if (this.#source[this.#at] === "]") {
      out += "\\]";
      this.#at += 1;
    }
    return out;
  }

  #classLetter(letter: string): string {
    if (letter === "]") this.#inClass = false;
    return /[[(){}/|]/.test(letter) ? `\\${letter}` : letter;
  }

  #escape(): string {
    const letter = this.#source[this.#at] ?? "";
    this.#at += 1;
    const table = this.#inClass ? insideClass : outside;
    if (Object.hasOwn(table, letter)) return table[letter] ?? "";
    if (this.#inClass && letter === "b") return "\\x08";
    if (this.#inClass && /[DWS]/.test(letter)) throw refused(`\\${letter} inside a character class`);
    if (/[1-9]/.test(letter) && !this.#inClass) return this.#reference(letter);
    if (/[0-7]/.test(letter)) throw refused("octal escapes");
    if (/[a-zA-Z]/.test(letter) && !/[nrtfvxu]/.test(letter)) throw refused(`\\${letter}`);
    if (/[a-zA-Z]/.test(letter)) return `\\${letter}`;
    return /[\^$\\.*+?()[\]{}|/-]/.test(letter) ? `\\${letter}` : letter;
  }

  #reference(digit: string): string {
    if (/\d/.test(this.#source[this.#at] ?? "")) throw refused("references beyond \\9");
    return `\\${digit}(?:)`;
  }

  #group(): string {
    const rest = this.#source.slice(this.#at, this.#at + 80).join("");
    const named = /^\?P<(\w+)>/.exec(rest);
    if (named !== null) return this.#take(named[0], `(?<${named[1]}>`);
    const reference = /^\?P=(\w+)\)/.exec(rest);
    if (reference !== null) return this.#take(reference[0], `\\k<${reference[1]}>`);
    const plain = /^\?(?::|=|!|<=|<!)/.exec(rest);
    if (plain !== null) return this.#take(plain[0], `(${plain[0]}`);
    throw refused(`(${rest.slice(0, 3)}`);
  }

  #take(taken: string, translated: string): string {
    this.#at += Array.from(taken).length;
    return translated;
  }
}

function refused(construct: string): SaltworksError {
  return typeFault(`regular expression refused: ${construct} is not supported`);
}

/** @throws PILLAR_FAILED for what Python refuses, and for what has no equal in JavaScript */
export function compileSearch(source: string, o: { ignoresCase: boolean; isMultiline: boolean }): RegExp {
  const leading = /^\(\?([imsx]+)\)/.exec(source);
  if (leading !== null && /[sx]/.test(leading[1] ?? "")) throw refused(leading[0]);
  const body = leading === null ? source : source.slice(leading[0].length);
  const ignoresCase = o.ignoresCase || leading?.[1]?.includes("i") === true;
  try {
    // Reads it as Python would, so that a typing error is told in the same words.
    parsePythonRegex(body.replaceAll(/\\[1-9]/g, "x").replaceAll(/\(\?P=\w+\)/g, "x"), ignoresCase);
    const pattern = new Translator(body, o.isMultiline || leading?.[1]?.includes("m") === true).run();
    return new RegExp(pattern, ignoresCase ? "iu" : "u");
  } catch (error) {
    if (error instanceof SyntaxError) throw refused("this pattern");
    if (error instanceof SaltworksError && error.code === "TARGET_INVALID") throw typeFault(error.message);
    throw error;
  }
}

/** A replacement text of Python's `re.sub`: `\1`, `\g<name>`, and its escapes. */
export function replacementOf(template: string, found: RegExpMatchArray): string {
  return template.replaceAll(
    /\\(?:g<(\w+)>|([1-9]\d?)|([\s\S]))/g,
    (_whole, name: string, digits: string, letter: string) => {
      const key = name ?? digits;
      if (key !== undefined) {
        const group = /^\d+$/.test(key) ? found[Number(key)] : found.groups?.[key];
        if (
          group === undefined &&
          (/^\d+$/.test(key)
            ? Number(key) >= found.length
            : found.groups?.[key] === undefined && !(key in (found.groups ?? {})))
        )
          throw typeFault(`invalid group reference ${key}`);
        return group ?? "";
      }
      const escapes: Readonly<Record<string, string>> = {
        n: "\n",
        t: "\t",
        r: "\r",
        "\\": "\\",
        f: "\f",
        v: "\v",
        a: "\x07",
      };
      const plain = escapes[letter];
      if (plain !== undefined) return plain;
      if (/[A-Za-z0-9]/.test(letter)) throw typeFault(`bad escape \\${letter}`);
      return `\\${letter}`;
    },
  );
}
