/** A Redis server of a test's own: with a password, a socket, and a file that keeps each command before its answer. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import { type Service, startRedis } from "../services/service.ts";

const password = "s3cret-of-redis";
const lookMs = 20;
const socketName = "socket";
const settings = ["--requirepass", password, "--unixsocket", socketName, "--appendonly", "yes"];

export class RedisServer {
  readonly password = password;
  readonly service: Service;

  private constructor(service: Service) {
    this.service = service;
  }

  static async start(): Promise<RedisServer> {
    return new RedisServer(await startRedis(...settings, "--appendfsync", "always"));
  }

  get socket(): string {
    return join(this.service.directory, socketName);
  }

  /** `port`: of something between the master and the server. */
  options(port: number = this.service.port) {
    return { "redis.host": "127.0.0.1", "redis.port": port, "redis.password": password };
  }

  config(more: Overrides = {}): MasterConfig {
    const { directory } = this.service;
    return loadMasterConfig(directory, { root_dir: directory, id: "the_master", ...this.options(), ...more });
  }

  /** Starts it again on its data, and waits until it has read them. */
  async run(): Promise<void> {
    await this.service.run();
    while (this.command("PING")[0] !== "PONG") await delay(lookMs);
  }

  /** Sends one command. @returns the answer's lines */
  command(...words: readonly string[]): string[] {
    const env = { ...process.env, REDISCLI_AUTH: password };
    const text = execFileSync("redis-cli", ["-p", String(this.service.port), "--raw", ...words], {
      ...{ encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] },
    });
    return text.split("\n").slice(0, -1);
  }

  /** All keys of a pattern. */
  keys(pattern: string): string[] {
    return this.command("--scan", "--pattern", pattern).sort();
  }
}
