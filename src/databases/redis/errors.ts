/** Errors of the package `redis` as ours. Their messages name the server's reason, and never hold the password or a value. */
import { SaltworksError } from "../../errors.ts";

/** The first word of an answer that is an error. */
const answerWord = /^([A-Z]+) /;
/** Words by which the server refuses a row for what it holds: another program uses a key of Salt's for something else. */
const refusals: ReadonlySet<string> = new Set(["WRONGTYPE"]);

/** What an operator can do about the most frequent errors. The texts of these answers are fixed, so they are shown. */
const advice: Readonly<Record<string, string>> = {
  NOAUTH: ": set redis.password",
  WRONGPASS: ": look at redis.password",
  NOPERM: ": the server's ACL must let the default user write the keys of docs/databases.md",
  OOM: ": the server's maxmemory is reached",
  MISCONF: ": look at the server's disk and log",
  READONLY: ": redis.host is a replica, which takes no rows",
  MOVED: ": redis.host is part of a cluster, which is not built",
  LOADING: "",
};
/** Answers that begin with ERR: what is in them, and what is shown. */
const plainErrors: readonly (readonly [RegExp, string])[] = [
  [/DB index is out of range/, "the server has no such database: look at redis.db"],
  [/AUTH/, "the server has no password: leave redis.password out"],
  [/invalid password/, "the server refuses the password: look at redis.password"],
  [/max number of clients/, "the server's maxclients is reached"],
];

/** Whether the server has answered, so that the connection goes on. */
export function isAnswer(error: unknown): boolean {
  return wordOf(firstOf(error)) !== undefined;
}

export function redisError(error: unknown, place: string): SaltworksError {
  if (error instanceof SaltworksError) return error;
  const first = firstOf(error);
  const word = wordOf(first);
  if (word !== undefined && refusals.has(word))
    return new SaltworksError("DATABASE_REFUSED", `${place} refused a row (${word})`, { reason: word });
  return new SaltworksError("DATABASE_FAILED", `${place}: ${reasonOf(first, word)}`, {
    reason: word ?? first.code ?? "",
  });
}

/** The server may quote what it was sent, so that only texts that are known to be fixed are shown. */
function reasonOf({ message, code = "" }: ClientError, word: string | undefined): string {
  if (word === undefined) return code === "" || message.includes(code) ? message : `${message} (${code})`.trim();
  if (advice[word] !== undefined) return message + advice[word];
  return plainErrors.find(([pattern]) => pattern.test(message))?.[1] ?? word;
}

type ClientError = Error & { readonly code?: string; readonly replies?: readonly unknown[] };

/** Of several commands the first that failed; of several addresses the first that refused. */
function firstOf(error: unknown): ClientError {
  const among = (error as ClientError).replies ?? (error as AggregateError).errors ?? [];
  return (among.find((each) => each instanceof Error) ?? error) as ClientError;
}

function wordOf({ message }: Error): string | undefined {
  return answerWord.exec(message)?.[1];
}
