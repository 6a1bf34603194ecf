/**
 * Bounds what a connection may bring in one turn of the event loop, so that one that never stops sending leaves
 * time to others, replies and timers. libuv alone would read it 32 times in a row.
 */
import { provenTurn, strangersTurnMessagesMax, strangerTurn } from "../../limits.ts";

/** `isProven`: has the larger budget `provenTurn`. */
type Spender = { readonly isProven: boolean };

/** What a connection, and all strangers together, spend before the end of the turn is planned: a small part of any budget. */
const littleSpent = { messages: 8, bytes: 32 * 1024, strangersMessages: 32 } as const;

type Spent = { turn: number; messages: number; bytes: number };

export class TurnBudget<Peer extends Spender> {
  readonly #spent = new WeakMap<Peer, Spent>();
  readonly #waiting = new Set<Peer>();
  /** Takes the bytes that a connection kept and reads it again. */
  readonly #goOn: (peer: Peer) => void;
  #turn = 0;
  #strangersMessages = 0;
  #isTurnPlanned = false;

  constructor(goOn: (peer: Peer) => void) {
    this.#goOn = goOn;
  }

  /** @returns whether the connection may bring more in this turn */
  spend(peer: Peer, messages: number, bytes: number): boolean {
    const spent = this.#of(peer);
    spent.messages += messages;
    spent.bytes += bytes;
    if (!peer.isProven) this.#strangersMessages += messages;
    // The end of a turn costs as much as a message. While connections bring little, they spend one budget over several turns.
    const isLittle = spent.messages < littleSpent.messages && spent.bytes < littleSpent.bytes;
    if (!isLittle || this.#strangersMessages >= littleSpent.strangersMessages) this.#planTurn();
    return this.#hasRoom(peer, spent);
  }

  /** Its bytes wait for the next turn. */
  wait(peer: Peer): void {
    this.#waiting.add(peer);
    this.#planTurn();
  }

  forget(peer: Peer): void {
    this.#waiting.delete(peer);
  }

  #of(peer: Peer): Spent {
    let spent = this.#spent.get(peer);
    if (spent === undefined) {
      spent = { turn: this.#turn, messages: 0, bytes: 0 };
      this.#spent.set(peer, spent);
    } else if (spent.turn !== this.#turn) {
      spent.turn = this.#turn;
      spent.messages = 0;
      spent.bytes = 0;
    }
    return spent;
  }

  #hasRoom(peer: Peer, { messages, bytes }: Spent): boolean {
    const { messagesMax, bytesMax } = peer.isProven ? provenTurn : strangerTurn;
    if (messages >= messagesMax || bytes >= bytesMax) return false;
    return peer.isProven || this.#strangersMessages < strangersTurnMessagesMax;
  }

  #planTurn(): void {
    if (this.#isTurnPlanned) return;
    this.#isTurnPlanned = true;
    setImmediate(() => this.#begin());
  }

  /** Resumes waiting connections in their order. Connections without budget in this turn keep their place. */
  #begin(): void {
    this.#isTurnPlanned = false;
    this.#turn += 1;
    this.#strangersMessages = 0;
    for (const peer of [...this.#waiting]) {
      if (!peer.isProven && this.#strangersMessages >= strangersTurnMessagesMax) continue;
      if (this.#waiting.delete(peer)) this.#goOn(peer);
    }
    if (this.#waiting.size > 0) this.#planTurn();
  }
}
