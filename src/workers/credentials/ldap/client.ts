/** A connection to a directory. The package `ldapts` is optional, so it is loaded when a user of `external_auth: ldap` logs in. */
import type { ConnectionOptions } from "node:tls";
import { requirePackage } from "../../../databases/packages.ts";
import { SaltworksError } from "../../../errors.ts";
import { ldapEntriesMax, ldapTimeoutMs } from "../../../limits.ts";
import type { LdapSettings } from "./settings.ts";

type Entry = Readonly<Record<string, string | string[] | Buffer | Buffer[]>> & { readonly dn: string };
type PackageClient = {
  startTLS(options: ConnectionOptions): Promise<void>;
  bind(dn: string, password: string): Promise<void>;
  unbind(): Promise<void>;
  search(base: string, options: object): Promise<{ readonly searchEntries: readonly Entry[] }>;
};
type Package = { readonly Client: new (options: object) => PackageClient };

/** `values`: of its attributes, by name in lower case. */
export type LdapEntry = { readonly dn: string; readonly values: (name: string) => readonly string[] };
export type Search = {
  readonly base: string;
  readonly scope: LdapSettings["scope"];
  readonly filter: string;
  readonly attributes: readonly string[];
};

const wrongPassword = 0x31;
const missingEntry = 0x20;

/** The number of an answer of LDAP. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : undefined;
}

export class LdapConnection {
  readonly #client: PackageClient;

  private constructor(client: PackageClient) {
    this.#client = client;
  }

  /** @throws SaltworksError PACKAGE_MISSING, and what the connection says */
  static async open({ url, usesStartTls, isVerifying, authorities }: LdapSettings): Promise<LdapConnection> {
    requirePackage("external_auth:ldap", "ldapts");
    const { Client } = (await import("ldapts" as string)) as Package;
    const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
    const tls: ConnectionOptions = {
      rejectUnauthorized: isVerifying,
      host,
      ...(authorities === undefined ? {} : { ca: authorities }),
    };
    const tlsOptions = url.startsWith("ldaps:") ? { tlsOptions: tls } : {};
    const client = new Client({
      url,
      timeout: ldapTimeoutMs,
      connectTimeout: ldapTimeoutMs,
      strictDN: false,
      ...tlsOptions,
    });
    if (usesStartTls) await client.startTLS(tls);
    return new LdapConnection(client);
  }

  /** @returns whether the directory takes this name and password. @throws what the connection says */
  async bind(dn: string, password: string): Promise<boolean> {
    // A directory takes an empty name or password for an anonymous bind, which always succeeds.
    if (dn === "" || password === "") return false;
    try {
      await this.#client.bind(dn, password);
      return true;
    } catch (error) {
      if (codeOf(error) === wrongPassword || codeOf(error) === missingEntry) return false;
      throw error;
    }
  }

  /** Follows no referral. Nothing is found below a missing base. @throws SaltworksError LIMIT, and what the connection says */
  async search({ base, scope, filter, attributes }: Search): Promise<readonly LdapEntry[]> {
    try {
      const { searchEntries } = await this.#client.search(base, {
        scope,
        filter,
        attributes: attributes.length === 0 ? ["1.1"] : [...attributes],
        paged: { pageSize: ldapPageEntries },
        sizeLimit: ldapEntriesMax,
        timeLimit: Math.ceil(ldapTimeoutMs / 1_000),
      });
      return searchEntries.map(toEntry);
    } catch (error) {
      if (codeOf(error) === missingEntry) return [];
      throw error;
    }
  }

  /** Never throws. */
  async close(): Promise<void> {
    await this.#client.unbind().catch(() => undefined);
  }
}

const ldapPageEntries = 500;

function toEntry(entry: Entry): LdapEntry {
  const byName = new Map(Object.entries(entry).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    dn: entry.dn,
    values: (name) => {
      const value = byName.get(name.toLowerCase()) ?? [];
      return (Array.isArray(value) ? value : [value]).map((each) => each.toString());
    },
  };
}

/** Why a directory gave no answer, without what was sent to it. */
export function ldapFault(error: unknown, { url }: LdapSettings): string {
  if (error instanceof SaltworksError) return error.message;
  const code = codeOf(error);
  const told = error instanceof Error ? error.message : String(error);
  return `external_auth:ldap: ${url}: ${told}${code === undefined ? "" : ` (LDAP result ${code})`}`;
}
