/** The questions by which operators learn how members of a cluster differ and which jobs each owns, and the answers. JSON over core NATS. */
import type { SaltworksError } from "../../errors.ts";

/** Another number means another form of question or answer. */
export const likenessForm = 1;

export const treeNames = ["file_roots", "pillar_roots"] as const;
export type TreeName = (typeof treeNames)[number];

/** `paths`: the files of a tree behind the path `after`. The member must have told the tree's digest before. */
export type LikenessQuestion =
  | { readonly kind: "clock" | "state" | "owners" }
  | {
      readonly kind: "paths";
      readonly tree: TreeName;
      readonly environment: string;
      readonly digest: string;
      readonly after: string;
    };

/** `atMs`: the member's clock. A witness has no files and no options of a master. */
export type ClockAnswer = { readonly role: "master" | "witness"; readonly atMs: number };

/** A member as an owner of batch jobs and of jobs that wait for absent minions. */
export type JobOwner = {
  readonly member: string;
  /** Null if the member that answers cannot tell, because it has no lease itself. */
  readonly holdsLease: boolean | null;
  readonly batchJobs: number;
  readonly waitingJobs: number;
};

/** `digest`: of all paths and contents; undefined if the tree was not read to its end, for the reason `why`. */
export type TreeState = {
  readonly tree: TreeName;
  readonly environment: string;
  readonly digest: string | undefined;
  readonly why?: string;
};

/** `shown`: the value, if it is short and of one word. Other values are compared by their digest alone. */
export type OptionState = { readonly digest: string; readonly shown?: string };

export type StateAnswer = {
  readonly version: string;
  readonly options: Readonly<Record<string, OptionState>>;
  readonly trees: readonly TreeState[];
};

/** Paths with the digest of each file, sorted. */
export type PathPage = { readonly files: readonly (readonly [string, string])[]; readonly isLast: boolean };

type Failure = { readonly form: number; readonly ok: false; readonly message: string };
type Success = { readonly form: number; readonly ok: true; readonly value: unknown };

/** The subject on which a member is asked. The name is in hexadecimal, because it may have characters with a meaning for NATS. */
export function likenessSubject(clusterId: string, member: string): string {
  return `sw_${clusterId}.likeness.${Buffer.from(member).toString("hex")}`;
}

export function encodeQuestion(question: LikenessQuestion): string {
  return JSON.stringify({ form: likenessForm, ...question });
}

/** @returns the question, or the reason why it is not answered */
export function decodeQuestion(text: string): LikenessQuestion | { readonly why: string } {
  const { form, ...question } = parsed(text) as { form?: number } & LikenessQuestion;
  const { kind } = question;
  if (typeof form === "number" && form !== likenessForm)
    return { why: `it is asked in form ${form}, and reads form ${likenessForm}` };
  const isKnown = form === likenessForm && ["clock", "owners", "state", "paths"].includes(kind);
  return isKnown ? question : { why: "it does not know the question" };
}

export function encodeAnswer(value: unknown): string {
  return JSON.stringify({ form: likenessForm, ok: true, value } satisfies Success);
}

export function encodeFailure({ message }: Pick<SaltworksError, "message">): string {
  return JSON.stringify({ form: likenessForm, ok: false, message } satisfies Failure);
}

/** @returns the value, or the reason why there is none */
export function decodeAnswer(text: string): { readonly value: unknown } | { readonly why: string } {
  const answer = parsed(text) as Partial<Success | Failure>;
  if (answer.form !== likenessForm)
    return { why: `it answers in form ${answer.form ?? "none"}, and this member reads form ${likenessForm}` };
  return answer.ok === true ? { value: answer.value } : { why: String((answer as Failure).message) };
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
