/** Questions of a member to the owner of a job, each good once, and what it tells all: over core NATS, sealed. */
import { type NatsConnection, RequestError } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { jobLeaseFaultLogMs, ownerAnswerMs } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { isOtherVersion } from "../other-version.ts";
import { openRecord, sealRecord } from "../secrets/record.ts";
import { isRepeated, markFor, QuestionGuard, type QuestionMark, type ReceivedMark } from "./question-guard.ts";
import { encodeName, type Owner } from "./record.ts";

export type OwnerQuestion =
  | {
      readonly kind: "control";
      readonly action: "pause" | "resume" | "abort";
      readonly jid: string;
      readonly user: string;
    }
  | { readonly kind: "cancel"; readonly jid: string; readonly minion: string | undefined };

/** Minions that have come back, to members that own jobs for them. */
export type Appeared = { readonly ids: readonly string[]; readonly how: "start" | "auth" | "contact" };

/** A question of a release that knows more kinds is refused. */
function isKnown(question: OwnerQuestion): boolean {
  if (question.kind === "control") return ["pause", "resume", "abort"].includes(question.action);
  return question.kind === "cancel";
}

type Answer = { readonly value?: unknown; readonly why?: string };
type MarkedQuestion = OwnerQuestion & ReceivedMark;

export type OwnerAsksOptions = {
  readonly nats: NatsConnection;
  readonly subject: string;
  /** This process. */
  readonly self: Owner;
  /** Whether others than members may be on the servers, which could send again what they saw. */
  readonly isOperatorNats: boolean;
  readonly box: SecretBox;
  readonly answer: (question: OwnerQuestion) => Promise<unknown>;
  readonly onAppeared: (appeared: Appeared) => void;
  readonly onFault: (error: unknown) => void;
};

/** The seal's names: a question cannot stand in for an answer, nor the answer to another question for this one's. */
const names = { ask: "owner/ask", answer: "owner/answer", told: "owner/told" } as const;
const answerName = (nonce: string | undefined) => (nonce === undefined ? names.answer : `${names.answer}/${nonce}`);

export class OwnerAsks {
  readonly #options: OwnerAsksOptions;
  readonly #guard: QuestionGuard;
  #unreadable = 0;
  #mayTellMs = 0;
  readonly #subscriptions: readonly { readonly unsubscribe: () => void }[];

  constructor(options: OwnerAsksOptions) {
    this.#options = options;
    const { nats, self, subject, isOperatorNats } = options;
    const { member } = self;
    this.#guard = new QuestionGuard(self, !isOperatorNats);
    this.#subscriptions = [
      nats.subscribe(this.#subjectOf(member), {
        callback: (error, message) => {
          if (error !== null) return options.onFault(error);
          void this.#answer(message.data).then((sealed) => sealed && message.respond(sealed));
        },
      }),
      nats.subscribe(subject, {
        callback: (error, message) => {
          if (error !== null) return options.onFault(error);
          try {
            const told = this.#read<Appeared & { by: string }>(names.told, message.data);
            if (told !== undefined && told.by !== member) options.onAppeared({ ids: told.ids, how: told.how });
          } catch (fault) {
            options.onFault(fault);
          }
        },
      }),
    ];
  }

  /** Questions that this member refused, by reason. `unreadable`: messages, of others than members perhaps. */
  get refused(): QuestionGuard["counters"] & { readonly unreadable: number } {
    return { ...this.#guard.counters, unreadable: this.#unreadable };
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE if the owner does not answer, or cannot do it */
  async ask(owner: Owner, question: OwnerQuestion): Promise<unknown> {
    const { nats, box } = this.#options;
    const { member } = owner;
    const mark = markFor(owner);
    let reply: Uint8Array;
    try {
      const sealed = sealRecord(box, names.ask, { ...question, ...mark } satisfies MarkedQuestion);
      reply = (await nats.request(this.#subjectOf(member), sealed, { timeout: ownerAnswerMs })).data;
    } catch (cause) {
      const isAway = cause instanceof RequestError && cause.isNoResponders();
      const why = isAway ? "does not run" : "does not answer";
      const text = `member ${member}, which owns the job ${question.jid}, ${why}: another member takes the job over soon`;
      throw new SaltworksError("CLUSTER_UNAVAILABLE", text, { jid: question.jid }, { cause });
    }
    const { value, why } = this.#opened(member, mark, reply);
    if (why !== undefined) throw new SaltworksError("CLUSTER_UNAVAILABLE", `member ${member}: ${why}`);
    return value;
  }

  /** An owner of the former release answers without the nonce. On an operator's NATS such an answer may be an old one. */
  #opened(member: string, { nonce }: QuestionMark, reply: Uint8Array): Answer {
    const { box, isOperatorNats } = this.#options;
    try {
      return openRecord<Answer>(box, answerName(nonce), reply);
    } catch (error) {
      if (isOtherVersion(error)) throw error;
      if (!isOperatorNats) return openRecord<Answer>(box, names.answer, reply);
      const text = `member ${member} was asked, and its answer cannot be checked: if it runs an older release, upgrade it, and look at the job meanwhile`;
      throw new SaltworksError("CLUSTER_UNAVAILABLE", text, {}, { cause: error });
    }
  }

  tell(appeared: Appeared): void {
    const { nats, subject, box, self } = this.#options;
    if (!nats.isClosed()) nats.publish(subject, sealRecord(box, names.told, { ...appeared, by: self.member }));
  }

  close(): void {
    for (const one of this.#subscriptions) one.unsubscribe();
  }

  /**
   * @returns undefined for what does not open, and for a copy, whose answer the asking member would take for the one to its own question
   */
  async #answer(bytes: Uint8Array): Promise<Buffer | undefined> {
    const { box, answer } = this.#options;
    let told: Answer;
    let of: string | undefined;
    try {
      const opened = this.#read<MarkedQuestion>(names.ask, bytes);
      if (opened === undefined) return undefined;
      const { nonce, atMs, session, ...question } = opened;
      of = nonce;
      this.#guard.demand({ nonce, atMs, session });
      if (!isKnown(question)) throw new SaltworksError("CLUSTER_REFUSED", "its release does not know the question");
      told = { value: await answer(question) };
    } catch (error) {
      if (isRepeated(error)) return undefined;
      told = { why: (error as Error).message };
    }
    return sealRecord(box, answerName(of), told);
  }

  /**
   * @returns undefined for what does not open. Of that it tells one in `jobLeaseFaultLogMs`, because on an operator's NATS others than members may send it
   * @throws SaltworksError CLUSTER_REFUSED for another version
   */
  #read<Content extends object>(name: string, bytes: Uint8Array): Content | undefined {
    try {
      return openRecord<Content>(this.#options.box, name, bytes);
    } catch (error) {
      if (isOtherVersion(error)) throw error;
      this.#unreadable += 1;
      const nowMs = performance.now();
      if (nowMs < this.#mayTellMs) return undefined;
      this.#mayTellMs = nowMs + jobLeaseFaultLogMs;
      this.#options.onFault(error);
      return undefined;
    }
  }

  #subjectOf(member: string): string {
    return `${this.#options.subject}.${encodeName(member)}`;
  }
}
