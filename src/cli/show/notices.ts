/**
 * What an operator at a terminal is told beside Salt's own words, on standard error. Where that is not a terminal a script may read it, and
 * gets what Salt prints.
 */

import type { JobRequest } from "../../client/job-request.ts";
import type { MasterClient } from "../../client/master-client.ts";
import { requestEndpoint } from "../../client/request-port.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { Host } from "../host/host.ts";

/** Names in one line. */
const namesMax = 5;

function notice(host: Host, text: string): void {
  if (host.errorTerminal !== undefined) host.complain(`${text}\n`);
}

/** Where the master was looked for, if that is what went wrong. */
export function noticePlace(error: unknown, config: MasterConfig, host: Host): void {
  if (!hasCode(error, "MASTER_UNREACHABLE") && !hasCode(error, "REQUEST_TIMEOUT")) return;
  const { configFile, sock_dir: sockets } = config;
  notice(host, `Looked for with ${configFile}: event sockets in ${sockets}, requests at ${requestEndpoint(config)}.`);
}

/** What shows more of a target, for commands of `saltworks salt`. */
const explainHint = "--explain in place of the function";

/** Why the target of a job matches no minion, as far as the master tells it in one line. `hint`: the command that tells more. */
export async function noticeNoMatch(
  { target, targetKind, kwargs }: Pick<JobRequest, "target" | "targetKind" | "kwargs">,
  client: MasterClient,
  host: Host,
  hint: string = explainHint,
): Promise<void> {
  if (host.errorTerminal === undefined) return;
  let why: string;
  try {
    const delimiter = String(kwargs?.delimiter ?? ":");
    const explained = await client.explainTarget({ target, targetKind, delimiter });
    const fault = explained.get("fault");
    const unknown = explained.get("unknown");
    const named = unknown instanceof Map ? unknown.get("first") : undefined;
    if (typeof fault === "string") why = `The target cannot be read: ${fault}`;
    else if (named instanceof Map && named.size > 0) why = `No accepted key: ${unknownNames(named)}.`;
    else why = "No minion with an accepted key matches.";
  } catch (error) {
    // A user with few rights, or a master that goes: the line is only a help.
    if (!(error instanceof SaltworksError)) throw error;
    return;
  }
  notice(host, `${why} ${hint} shows what each part of the target matches.`);
}

function unknownNames(states: ReadonlyMap<unknown, unknown>): string {
  const names = [...states].slice(0, namesMax).map(([id, state]) => `${String(id)} (${String(state)})`);
  return names.join(", ") + (states.size > namesMax ? " and others" : "");
}

/**
 * That a job waits for minions that are away, and until when, as the master says. With `--deliver-within`, which only our command line has,
 * scripts are told as well; a job that waits by the site's option `deliver_within` is published by commands that expect Salt's output.
 */
export function noticeDelivery(
  untilMs: number | undefined,
  isAsked: boolean,
  away: readonly string[] | undefined,
  host: Host,
): void {
  if (untilMs === undefined || away?.length === 0) return;
  if (!isAsked && host.errorTerminal === undefined) return;
  const until = clockText(new Date(untilMs));
  const names = away?.slice(0, namesMax).join(", ");
  const more = away !== undefined && away.length > namesMax ? ` and ${away.length - namesMax} others` : "";
  host.complain(
    names === undefined
      ? `Minions that are away get the job if they come back before ${until}.\n`
      : `${names}${more}: a minion that is away gets the job if it comes back before ${until}.\n`,
  );
}

/** Of this machine's clock, to the second. */
function clockText(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** A command of ours that reads the same configuration as the one that names it. */
export function commandLine(words: string, configDir: string | undefined): string {
  const [program = "", command = "", ...rest] = words.split(" ");
  if (configDir === undefined) return words;
  const quoted = /^[\w@%+=:,./-]+$/.test(configDir) ? configDir : `'${configDir.replaceAll("'", "'\\''")}'`;
  return [program, command, "-c", quoted, ...rest].join(" ");
}

/** A text that the master wrote, with its commands of ours (in backticks) as they are typed for this configuration. */
export function withCommandLines(text: string, configDir: string | undefined): string {
  return text.replace(/`(saltworks [a-z-]+[^`]*)`/g, (_, words: string) => `\`${commandLine(words, configDir)}\``);
}

/** What comes back of a job later is shown by our own command as well: Salt's, which its words name, may not be installed or reads another configuration. */
export function noticeLookup(jid: string, configDir: string | undefined, host: Host): void {
  notice(host, `Late returns: ${commandLine(`saltworks run jobs.lookup_jid ${jid}`, configDir)}`);
}
