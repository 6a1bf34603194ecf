/** The options `auth.ldap.*` with Salt's names and defaults. */
import { readFileSync } from "node:fs";
import { filterTemplateFault } from "./templates.ts";

export type LdapSettings = {
  readonly url: string;
  readonly usesStartTls: boolean;
  readonly isVerifying: boolean;
  readonly authorities: Buffer | undefined;
  readonly isAnonymous: boolean;
  readonly baseDn: string;
  readonly scope: "base" | "one" | "sub";
  readonly bindDn: string;
  readonly bindPassword: string;
  readonly filter: string;
  readonly groupOu: string;
  readonly groupClass: string;
  readonly accountAttribute: string;
  readonly groupAttribute: string;
  readonly personType: string;
  readonly directory: "activeDirectory" | "freeIpa" | "other";
  readonly groupBaseDn: string;
  readonly groupFilter: string;
  readonly stripDomains: readonly string[];
};

const scopes = ["base", "one", "sub"] as const;

/** @throws Error with the reason why nothing can be asked */
export function readLdapSettings(opts: ReadonlyMap<string, unknown>): LdapSettings {
  const value = (name: string, otherwise: unknown = "") => opts.get(`auth.ldap.${name}`) ?? otherwise;
  const text = (name: string, otherwise = "") => String(value(name, otherwise));
  const flag = (name: string) => value(name, false) === true;
  const [tls, starttls] = [flag("tls"), flag("starttls")];
  if (tls && starttls) throw new Error("auth.ldap.tls and auth.ldap.starttls exclude each other");
  if (flag("auth_by_group_membership_only") && flag("anonymous"))
    throw new Error("auth.ldap.auth_by_group_membership_only with auth.ldap.anonymous would accept every password");
  const scope = scopes[Number(value("scope", 2))];
  if (scope === undefined) throw new Error("auth.ldap.scope is 0 (the entry), 1 (its children) or 2 (all below)");
  const url = text("uri") || `${tls ? "ldaps" : "ldap"}://${text("server", "localhost")}:${text("port", "389")}`;
  if (!/^ldaps?:\/\/[^\s/]+\/?$/.test(url) || !URL.canParse(url))
    throw new Error("auth.ldap.uri is not of the form ldap://HOST:PORT or ldaps://HOST:PORT");
  const settings = {
    url,
    usesStartTls: starttls,
    isVerifying: !flag("no_verify"),
    authorities: authoritiesIn(text("ca_file")),
    isAnonymous: flag("anonymous"),
    baseDn: text("basedn"),
    scope,
    bindDn: text("binddn"),
    bindPassword: text("bindpw"),
    filter: text("filter"),
    groupOu: text("groupou", "Groups"),
    groupClass: text("groupclass", "posixGroup"),
    accountAttribute: text("accountattributename", "memberUid"),
    groupAttribute: text("groupattribute", "memberOf"),
    personType: text("persontype", "person"),
    directory: flag("activedirectory") ? "activeDirectory" : flag("freeipa") ? "freeIpa" : "other",
    groupBaseDn: text("group_basedn"),
    groupFilter: text("group_filter"),
    stripDomains: [value("minion_stripdomains", [])].flat().map(String),
  } as const;
  const fault = faultOf(settings);
  if (fault !== undefined) throw new Error(fault);
  return settings;
}

function authoritiesIn(file: string): Buffer | undefined {
  return file === "" ? undefined : readFileSync(file);
}

function faultOf(settings: LdapSettings): string | undefined {
  const { bindDn, bindPassword, filter, isAnonymous, baseDn, directory, groupBaseDn, groupFilter } = settings;
  for (const name of [settings.accountAttribute, settings.groupAttribute, settings.groupClass, settings.personType])
    if (!/^[\w.;-]+$/.test(name)) return `auth.ldap: '${name}' is not the name of an attribute or a class`;
  for (const [name, template] of Object.entries({ binddn: bindDn, filter, group_filter: groupFilter })) {
    const fault = filterTemplateFault(template);
    if (fault !== undefined) return `auth.ldap.${name}: ${fault}`;
  }
  if (bindDn !== "" && bindPassword !== "" && isAnonymous)
    return "auth.ldap.anonymous excludes auth.ldap.bindpw: a search is anonymous or made as auth.ldap.binddn";
  if (isSearching(settings) && (filter === "" || baseDn === ""))
    return "auth.ldap.filter and auth.ldap.basedn are needed to find a user's entry";
  if (!isSearching(settings) && bindDn === "") return "auth.ldap.binddn is needed, or auth.ldap.anonymous";
  if (directory === "freeIpa" && (groupBaseDn === "" || groupFilter === ""))
    return "auth.ldap.freeipa needs auth.ldap.group_basedn and auth.ldap.group_filter";
  return undefined;
}

/** Whether a user's entry is searched for; otherwise its name is made from `binddn`. */
export function isSearching({ bindDn, bindPassword, isAnonymous }: LdapSettings): boolean {
  return isAnonymous || (bindDn !== "" && bindPassword !== "");
}
