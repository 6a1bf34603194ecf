/**
 * Bounds the master's log, because strangers and minions can cause lines. Each message is written a bounded number of times, with the count of
 * the lines left out, and values are cut.
 */
import type { Level, Logger } from "pino";
import { logItemsMax, logSentencesMax, logTextLengthMax } from "../../limits.ts";
import { LineAllowance } from "./line-allowance.ts";

const limitedLevels: ReadonlySet<string | symbol> = new Set<Level>(["trace", "debug", "info", "warn", "error"]);
/** Depth to which values are written: errors in fields, details in errors. */
const depthMax = 4;

/** Maps each limited logger to a logger that bounds only the values of a line. */
const withValuesBounded = new WeakMap<object, object>();

/**
 * The same log, for messages that hold a stranger's text. The caller bounds their number: in the limited logger each would take one of
 * `logSentencesMax` places for good.
 *
 * @returns `logger` itself if it is not a limited one
 */
export function withoutSentenceLimit<Log extends object>(logger: Log): Log {
  return (withValuesBounded.get(logger) as Log | undefined) ?? logger;
}

export class LogLimit {
  /** `logLinesSuppressed`: lines that were left out. */
  readonly counters = { logLinesSuppressed: 0 };
  readonly logger: Logger;
  readonly #nowMs: () => number;
  readonly #allowances = new Map<string, LineAllowance>();

  constructor(logger: Logger, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.logger = writingBy(logger, (line, write) => this.#write(line, write));
    withValuesBounded.set(
      this.logger,
      writingBy(logger, (line, write) => write(boundedLine(line))),
    );
  }

  #write(line: Line, write: (line: Line) => void): void {
    const sentence = String(line.find((part) => typeof part === "string") ?? "");
    const suppressed = this.#allowanceOf(sentence.slice(0, logTextLengthMax)).take(this.#nowMs());
    if (suppressed === undefined) {
      this.counters.logLinesSuppressed += 1;
      return;
    }
    const bounded = boundedLine(line);
    const [fields, ...rest] = typeof bounded[0] === "object" ? bounded : [{}, ...bounded];
    write(suppressed === 0 ? bounded : [{ ...(fields as object), suppressed }, ...rest]);
  }

  /**
   * The allowance of a message. Messages come from the code, so they are few (see `withoutSentenceLimit`). Beyond `logSentencesMax` they share one.
   */
  #allowanceOf(sentence: string): LineAllowance {
    const key = this.#allowances.has(sentence) || this.#allowances.size < logSentencesMax ? sentence : "";
    let allowance = this.#allowances.get(key);
    if (allowance === undefined) {
      allowance = new LineAllowance(this.#nowMs());
      this.#allowances.set(key, allowance);
    }
    return allowance;
  }
}

type Line = readonly unknown[];

/** A logger whose lines of the limited levels go through `pass`. */
function writingBy(logger: Logger, pass: (line: Line, write: (bounded: Line) => void) => void): Logger {
  return new Proxy(logger, {
    get: (inner, name) => {
      const member: unknown = Reflect.get(inner, name, inner);
      if (!limitedLevels.has(name) || typeof member !== "function") return member;
      return (...line: unknown[]) => pass(line, (bounded) => member.apply(inner, bounded));
    },
  });
}

function boundedLine(line: Line): Line {
  return line.map((part) => boundedValue(part, depthMax));
}

function boundedValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return boundedText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "..";
  if (value instanceof Error) return boundedError(value, depth);
  if (Array.isArray(value)) {
    const shown = value.slice(0, logItemsMax).map((item) => boundedValue(item, depth - 1));
    return value.length > logItemsMax ? [...shown, `.. (${value.length} in all)`] : shown;
  }
  const members = Object.entries(value);
  return Object.fromEntries(
    members.slice(0, logItemsMax).map(([name, member]) => [boundedText(name), boundedValue(member, depth - 1)]),
  );
}

/** A copy of an error with bounded values. It has the same class, so pino writes it in the same form. */
function boundedError(error: Error, depth: number): Error {
  const { cause, message, stack = "" } = error;
  const held = Object.entries(error).filter(([name]) => name !== "cause");
  return Object.assign(
    Object.create(Object.getPrototypeOf(error)) as Error,
    Object.fromEntries(held.slice(0, logItemsMax).map(([name, member]) => [name, boundedValue(member, depth - 1)])),
    { message: boundedText(message), stack: boundedText(stack) },
    cause === undefined ? {} : { cause: boundedValue(cause, depth - 1) },
  );
}

function boundedText(text: string): string {
  return text.length <= logTextLengthMax ? text : `${text.slice(0, logTextLengthMax)}.. (${text.length} characters)`;
}
