/** What minions ask for and others make: pillars, mines, files, jobs and runner calls for them. Each kind has its own file; this one hands a question to it. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { ShardPool } from "../../workers/threads/pool.ts";
import type { Bus } from "../ports/bus.ts";
import type { RequestPeer } from "../ports/request-peer.ts";
import { type FileAnswers, fileAnswersOf } from "./file-answers.ts";
import { MineAnswers } from "./mine-answers.ts";
import { type PeerJobs, type Peers, peersOf } from "./peers.ts";
import type { Pillars } from "./pillars.ts";

export type ContentParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly bus: Pick<Bus, "fire">;
  readonly pool: ShardPool;
  readonly rsa: LanePool;
  readonly files: LanePool;
  readonly partitioner: Partitioner;
};

export type ContentWork = Extract<Deferred, { kind: "pillar" | "mineGet" | "files" | "peer" }>;

export class ContentAnswers {
  readonly pillars: Pillars;
  readonly mines: MineAnswers;
  readonly files: FileAnswers;
  readonly peers: Peers;

  constructor(parts: ContentParts, pillars: Pillars, jobs: PeerJobs) {
    this.pillars = pillars;
    this.mines = new MineAnswers(parts);
    this.files = fileAnswersOf(parts);
    this.peers = peersOf(parts, jobs);
  }

  /** The whole reply. Errors are those of the kind asked for. */
  answer(work: ContentWork, peer: RequestPeer): Promise<Uint8Array> {
    if (work.kind === "pillar") return this.pillars.answer(work);
    if (work.kind === "peer") return this.peers.answer(work.ask);
    return work.kind === "files" ? this.files.answer(work, peer) : this.mines.answer(work.ask);
  }
}
