/**
 * Backend `ldap`: a directory checks the password by a bind as the user. Options, searches and groups follow Salt's backend `ldap`. Stricter is:
 * an empty password is refused, names are escaped, and the entry has to spell the user's name as the user does.
 */
import { backendConfig, grantsOfUser, hasLdapTarget, ldapTargetStart } from "../../../config/external-auth.ts";
import { type ConfigValue, isConfigMap } from "../../../config/yaml/values.ts";
import { within } from "../../../deadline.ts";
import { ldapLoginMs, ldapMinionsMax } from "../../../limits.ts";
import { encode } from "../../../wire/msgpack.ts";
import type { Encodable } from "../../../wire/values.ts";
import {
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "../contract/credential.ts";
import { LdapConnection, ldapFault } from "./client.ts";
import { groupsOf } from "./groups.ts";
import { isSearching, type LdapSettings, readLdapSettings } from "./settings.ts";
import { bindNameFor, filterFor, valuesAsked } from "./templates.ts";

export async function checkLdap(config: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  const { username, password } = task;
  if (username === "" || password === "" || [username, password].some((text) => text.includes("\0"))) return refused;
  let settings: LdapSettings;
  try {
    settings = readLdapSettings(config.opts);
  } catch (error) {
    return faulty(`external_auth:ldap: ${(error as Error).message}`);
  }
  const login = new LdapLogin(config, settings, task);
  try {
    const late = () => faulty(`external_auth:ldap: ${settings.url} did not answer within ${ldapLoginMs} ms`);
    return await within(login.run(), ldapLoginMs, late);
  } catch (error) {
    return faulty(ldapFault(error, settings));
  } finally {
    await login.close();
  }
}

class LdapLogin {
  readonly #config: CredentialConfig;
  readonly #settings: LdapSettings;
  readonly #task: CredentialTask;
  readonly #connections: LdapConnection[] = [];

  constructor(config: CredentialConfig, settings: LdapSettings, task: CredentialTask) {
    this.#config = config;
    this.#settings = settings;
    this.#task = task;
  }

  async run(): Promise<CredentialResult> {
    const settings = this.#settings;
    const { username, password } = this.#task;
    const searcher = isSearching(settings) ? await this.#searcher() : undefined;
    const dn = searcher === undefined ? bindNameFor(settings.bindDn, username) : await this.#entryOf(searcher);
    if (dn === undefined) return refused;
    const user = await this.#connect();
    if (!(await user.bind(dn, password))) return refused;
    if (searcher === undefined && !(await this.#isSpelledSo(user, dn))) return refused;
    const asker = searcher ?? user;
    const groups = [...new Set(await groupsOf(asker, settings, { username, dn }))];
    const grants = await this.#expandedGrants(asker, groups);
    return {
      isAuthentic: true,
      groups,
      ...(grants === undefined ? {} : { grants: encode(grants as Encodable, "bin") }),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  async #connect(): Promise<LdapConnection> {
    const connection = await LdapConnection.open(this.#settings);
    this.#connections.push(connection);
    return connection;
  }

  /** The connection that looks for entries. @throws Error if the directory refuses `binddn` */
  async #searcher(): Promise<LdapConnection> {
    const { isAnonymous, bindDn, bindPassword } = this.#settings;
    const connection = await this.#connect();
    if (!isAnonymous && !(await connection.bind(bindDn, bindPassword)))
      throw new Error("the directory refuses auth.ldap.binddn with auth.ldap.bindpw");
    return connection;
  }

  /** The name of the only entry that the filter finds. */
  async #entryOf(searcher: LdapConnection): Promise<string | undefined> {
    const { baseDn: base, scope, filter } = this.#settings;
    const { username } = this.#task;
    const asked = valuesAsked(filter, username);
    const attributes = [...asked.keys()];
    const found = await searcher.search({ base, scope, filter: filterFor(filter, username), attributes });
    const [entry, ...others] = found;
    if (entry === undefined || others.length > 0) return undefined;
    const isSpelledSo = asked.size === 0 || [...asked].some(([name, value]) => entry.values(name).includes(value));
    return isSpelledSo ? entry.dn : undefined;
  }

  /** An entry that its user may not read counts as spelled so. */
  async #isSpelledSo(user: LdapConnection, dn: string): Promise<boolean> {
    const { bindDn } = this.#settings;
    const asked = valuesAsked(bindDn.split(",", 1)[0] ?? "", this.#task.username);
    if (!bindDn.includes("=") || asked.size === 0) return true;
    const attributes = [...asked.keys()];
    const [entry] = await user.search({ base: dn, scope: "base", filter: "(objectClass=*)", attributes });
    return entry === undefined || [...asked].some(([name, value]) => entry.values(name).includes(value));
  }

  /** The user's grants with the minions that `ldap(PLACE)` stands for; undefined if none has such a key. */
  async #expandedGrants(asker: LdapConnection, groups: readonly string[]): Promise<ConfigValue[] | undefined> {
    const backend = backendConfig(this.#config.externalAuth, "ldap") ?? {};
    const grants = grantsOfUser(backend, this.#task.username, groups, this.#config.isPermissive);
    if (!grants.some(hasLdapTarget)) return undefined;
    const expanded: ConfigValue[] = [];
    for (const grant of grants) {
      if (!isConfigMap(grant)) expanded.push(grant);
      else
        for (const [target, conditions] of Object.entries(grant))
          if (!target.startsWith(ldapTargetStart)) expanded.push({ [target]: conditions });
          else {
            const minions = await this.#minionsAt(asker, target.slice(ldapTargetStart.length).replace(/\)\s*$/, ""));
            if (minions.length > 0) expanded.push({ [`L@${minions.join(",")}`]: conditions });
          }
    }
    return expanded;
  }

  /** Names that are not a plain minion id are left out: they could mean more in a target. @throws Error over `ldapMinionsMax` */
  async #minionsAt(asker: LdapConnection, base: string): Promise<string[]> {
    const filter = "(objectClass=computer)";
    const found = await asker.search({ base, scope: "sub", filter, attributes: ["cn"] });
    if (found.length > ldapMinionsMax) throw new Error(`${base} has more than ${ldapMinionsMax} computers`);
    const names = found.flatMap((entry) => entry.values("cn").slice(0, 1)).map((name) => this.#stripped(name));
    return names.filter((name) => /^[a-z0-9][a-z0-9._-]*$/.test(name));
  }

  #stripped(cn: string): string {
    const name = cn.toLowerCase();
    const domain = this.#settings.stripDomains.find((each) => name.endsWith(each));
    return domain === undefined ? name : name.slice(0, name.length - domain.length);
  }
}
