/** Asks the members of a cluster what each has of its own and reports how they differ, or asks which jobs each owns. */
import { createHash } from "node:crypto";
import { type NatsConnection, RequestError } from "@nats-io/nats-core";
import { hasCode, SaltworksError } from "../../errors.ts";
import {
  clusterClockMs,
  clusterStatusWaitMs,
  likenessClockAnswerMs,
  likenessDifferencesMax,
  likenessPagesMax,
  likenessStateAnswerMs,
} from "../../limits.ts";
import {
  compareClocks,
  compareFiles,
  compareStates,
  type Difference,
  type Files,
  type Told,
  treeIn,
  type UnlikeTree,
  unlikeTrees,
} from "./compare.ts";
import {
  type ClockAnswer,
  decodeAnswer,
  encodeQuestion,
  type JobOwner,
  type LikenessQuestion,
  likenessSubject,
  type PathPage,
  type StateAnswer,
  type TreeName,
} from "./message.ts";

export type LikenessReport = {
  readonly cluster: string;
  /** Servers that answered. */
  readonly members: readonly { readonly name: string; readonly role: "master" | "witness" }[];
  readonly differences: readonly Difference[];
  /** Differences beyond `likenessDifferencesMax`. */
  readonly omitted: number;
  /** Servers that did not answer, or not wholly. */
  readonly unasked: readonly { readonly member: string; readonly why: string }[];
};

export type LikenessAsk = {
  readonly clusterId: string;
  /** This member's name. */
  readonly own: string;
  /** The names of all servers of the cluster, this member's among them. */
  readonly names: readonly string[];
};

type Clock = { readonly member: string; readonly aheadMs: number; readonly unsureMs: number };
type Asked = { readonly member: string } & (
  | { readonly why: string }
  | ({ readonly clock: Clock; readonly told?: Told } & ClockAnswer)
);
type Unasked = LikenessReport["unasked"][number];

/** @param nats a connection as the members' user */
export async function compareMembers(nats: NatsConnection, asked: LikenessAsk): Promise<LikenessReport> {
  const { clusterId, own, names } = asked;
  const answers = await Promise.all(names.map((member) => askMember(nats, clusterId, member)));
  const answered = answers.flatMap((one) => ("why" in one ? [] : [one]));
  const told = answered.flatMap((one) => (one.told === undefined ? [] : [one.told]));
  const unasked: Unasked[] = answers.flatMap((one) => ("why" in one ? [{ member: one.member, why: one.why }] : []));
  const differences = [
    ...compareStates(told, own),
    ...compareClocks(
      answered.map(({ clock }) => clock),
      clusterClockMs,
    ),
  ];
  for (const { member, state } of told)
    for (const { tree, environment, digest, why = "" } of state.trees)
      if (digest === undefined) unasked.push({ member, why: `${tree} ${environment} is not compared: ${why}` });
  for (const tree of unlikeTrees(told, emptyDigest)) {
    const { files, faults } = await readFiles(nats, clusterId, tree, told);
    unasked.push(...faults);
    differences.push(...compareFiles(tree, files, own));
  }
  return {
    cluster: clusterId,
    members: answered.map(({ member: name, role }) => ({ name, role })),
    differences: differences.slice(0, likenessDifferencesMax),
    omitted: Math.max(0, differences.length - likenessDifferencesMax),
    unasked,
  };
}

/**
 * The owners of the cluster's jobs. Each member knows all of them. One that holds its lease also knows which others hold theirs, so that such a one is
 * believed first.
 *
 * @param nats a connection as the members' user
 * @returns null if no member answers
 */
export async function askOwners(
  nats: NatsConnection,
  { clusterId, names }: Pick<LikenessAsk, "clusterId" | "names">,
): Promise<readonly JobOwner[] | null> {
  const answers = await Promise.all(
    names.map(async (member) => {
      try {
        const subject = likenessSubject(clusterId, member);
        const owners = await ask(nats, subject, { kind: "owners" }, clusterStatusWaitMs);
        return Array.isArray(owners) ? [{ member, owners: owners as readonly JobOwner[] }] : [];
      } catch (error) {
        // A witness, a server whose master is down, or a member of a release that does not know the question.
        if (hasCode(error, "CLUSTER_UNAVAILABLE")) return [];
        throw error;
      }
    }),
  );
  const told = answers.flat();
  const isHolder = ({ member, owners }: (typeof told)[number]) =>
    owners.some((one) => one.member === member && one.holdsLease === true);
  return (told.find(isHolder) ?? told[0])?.owners ?? null;
}

/** The digest of a tree without files. */
export const emptyDigest = createHash("sha256").digest("hex");

async function askMember(nats: NatsConnection, clusterId: string, member: string): Promise<Asked> {
  const subject = likenessSubject(clusterId, member);
  try {
    const sentMs = Date.now();
    const answer = (await ask(nats, subject, { kind: "clock" }, likenessClockAnswerMs)) as ClockAnswer;
    const unsureMs = (Date.now() - sentMs) / 2;
    const clock = { member, aheadMs: answer.atMs - (sentMs + unsureMs), unsureMs };
    if (answer.role === "witness") return { member, ...answer, clock };
    const state = (await ask(nats, subject, { kind: "state" }, likenessStateAnswerMs)) as StateAnswer;
    return { member, ...answer, clock, told: { member, state } };
  } catch (error) {
    return { member, why: reasonOf(error) };
  }
}

/** @throws SaltworksError CLUSTER_UNAVAILABLE with the reason */
async function ask(
  nats: NatsConnection,
  subject: string,
  question: LikenessQuestion,
  waitMs: number,
): Promise<unknown> {
  let text: string;
  try {
    text = (await nats.request(subject, encodeQuestion(question), { timeout: waitMs })).string();
  } catch (cause) {
    const why =
      cause instanceof RequestError && cause.isNoResponders()
        ? "its master or witness does not run, or has not joined"
        : (cause as Error).message;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", why, {}, { cause });
  }
  const answer = decodeAnswer(text);
  if ("why" in answer) throw new SaltworksError("CLUSTER_UNAVAILABLE", answer.why);
  return answer.value;
}

function reasonOf(error: unknown): string {
  if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
  return (error as Error).message;
}

/** The files of a tree on each member that told them. */
async function readFiles(
  nats: NatsConnection,
  clusterId: string,
  { tree, environment, members }: UnlikeTree,
  told: readonly Told[],
): Promise<{ readonly files: ReadonlyMap<string, Files>; readonly faults: readonly Unasked[] }> {
  const files = new Map<string, Files>();
  const faults: Unasked[] = [];
  for (const member of members) {
    const state = told.find((one) => one.member === member)?.state;
    const digest = state && treeIn(state, tree, environment)?.digest;
    try {
      const subject = likenessSubject(clusterId, member);
      const read = digest === undefined ? new Map() : await readTree(nats, subject, { tree, environment, digest });
      files.set(member, read);
    } catch (error) {
      faults.push({ member, why: `${tree} ${environment} is not compared: ${reasonOf(error)}` });
    }
  }
  return { files, faults };
}

async function readTree(
  nats: NatsConnection,
  subject: string,
  asked: { readonly tree: TreeName; readonly environment: string; readonly digest: string },
): Promise<Files> {
  const files = new Map<string, string>();
  let after = "";
  for (let page = 0; page < likenessPagesMax; page += 1) {
    const answer = await ask(nats, subject, { kind: "paths", ...asked, after }, likenessStateAnswerMs);
    const { files: listed, isLast } = answer as PathPage;
    for (const [path, digest] of listed) files.set(path, digest);
    after = listed.at(-1)?.[0] ?? after;
    if (isLast) return files;
  }
  throw new SaltworksError("CLUSTER_UNAVAILABLE", `it told more than ${likenessPagesMax} pages of files`);
}
