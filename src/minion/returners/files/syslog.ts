/**
 * Returner `syslog`: sends the return to the system's log as one line of JSON, by the program `logger`, because Node.js has no unix datagrams.
 * Source: Salt 3007's `syslog` (names of levels, facilities and options).
 */
import { spawn } from "node:child_process";
import { strOf } from "../../../python/repr.ts";
import type { Value } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { which } from "../../modules/machine/which.ts";
import { returnerError } from "../contract/errors.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

const levels = ["EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"];
const facilities = [
  ...["KERN", "USER", "MAIL", "DAEMON", "AUTH", "LPR", "NEWS", "UUCP", "CRON", "SYSLOG", "AUTHPRIV"],
  ...["LOCAL0", "LOCAL1", "LOCAL2", "LOCAL3", "LOCAL4", "LOCAL5", "LOCAL6", "LOCAL7"],
];
/** Options of the system's syslog call as arguments of `logger`. The other options only tell when the call connects. */
const callOptions: { readonly [name: string]: readonly string[] } = {
  LOG_PID: [`--id=${process.pid}`],
  LOG_PERROR: ["--stderr"],
  LOG_CONS: [],
  LOG_NDELAY: [],
  LOG_NOWAIT: [],
  LOG_ODELAY: [],
};
/** Characters of a tag, as in Salt. */
const tagLengthMax = 32;

export const syslogReturner: Returner = {
  name: "syslog",
  doc: describe("Sends the return to the system's log as one line of JSON.", "test.ping --return syslog"),
  refusal: () => (which("logger", {}) === undefined ? "the returner syslog needs the program logger" : undefined),
  returner: async ({ ret, settings, signal }) => {
    const options = settings.of("syslog", {
      level: "LOG_INFO",
      facility: "LOG_USER",
      tag: "salt-minion",
      options: [],
      socket: undefined,
    });
    const level = nameIn(levels, options.demand("level"), "level");
    const facility = nameIn(facilities, options.demand("facility"), "facility");
    const tag = options.demand("tag");
    if (tag.length > tagLengthMax) throw returnerError(`syslog.tag is longer than ${tagLengthMax} characters`);
    const socket = options.text("socket");
    const line = `${jsonOf(ret)}\n`;
    await runLogger(
      [
        ...["--priority", `${facility}.${level}`, "--tag", tag, "--size", String(Buffer.byteLength(line))],
        ...["--socket-errors=on", ...(socket === undefined ? [] : ["--socket", socket])],
        ...argumentsOf(options.value("options")),
      ],
      line,
      signal,
    );
  },
};

function nameIn(names: readonly string[], given: string, what: string): string {
  const name = given.startsWith("LOG_") ? given.slice("LOG_".length) : "";
  if (names.includes(name)) return name.toLowerCase();
  throw returnerError(`${given} is not a valid syslog ${what}`);
}

function argumentsOf(options: Value): string[] {
  const names = Array.isArray(options) ? options.map(strOf) : [];
  return names.flatMap((name) => {
    const found = callOptions[name];
    if (found === undefined) throw returnerError(`${name} is not a valid syslog option`);
    return [...found];
  });
}

/** `logger` ends with 0 also if it could not send, and then says why. */
function runLogger(args: readonly string[], line: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const isCopied = args.includes("--stderr");
    const child = spawn(which("logger", {}) ?? "logger", args, {
      stdio: ["pipe", "ignore", "pipe"],
      signal,
      killSignal: "SIGKILL",
    });
    let said = "";
    child.stderr.on("data", (bytes: Buffer) => {
      said = `${said}${bytes}`.slice(0, line.length + 1_024);
    });
    child.on("error", reject);
    // A logger that ends early is reported by its exit.
    child.stdin.on("error", () => undefined);
    child.on("close", (code) => {
      if (code === 0 && (said === "" || isCopied)) resolve();
      else reject(returnerError(`logger: ${said.trim() || `exit code ${code}`}`));
    });
    child.stdin.end(line);
  });
}
