"""The site's plug-ins, as the operator's own Salt loads them: pillars, renderers, functions, runners, tops, logins and returners."""

import collections
import json
import os
import sys
import weakref

import salt.auth
import salt.client
import salt.config
import salt.loader
import salt.minion
import salt.pillar
import salt.runner
import salt.template
import salt.utils.args
import salt.utils.event
import salt.utils.sdb
import salt.version
import salt.wheel

import saltworks_job_cache

PILLARS_KEPT = 8
# The master serves these itself.
BUILT_FILE_SERVERS = ("roots", "git", "gitfs", "minionfs", "minion")


def about():
    return {"salt": salt.version.__version__, "python": ".".join(map(str, sys.version_info[:3]))}


def see(pillar, *loaders):
    """Sets what plug-ins see as `__pillar__`. Some of Salt's loaders are behind a filter of names."""
    for loader in loaders:
        (loader if hasattr(loader, "pack") else loader._dict).pack["__pillar__"] = pillar


class CallEvents:
    """`__jid_event__`: events under the call's tag. The master fires them itself, so that the caller knows that they are the function's."""

    def __init__(self, bus, base, tell):
        self._bus = bus
        self._base = base
        self._tell = tell

    def fire_event(self, data, tag):
        full = salt.utils.event.tagify(tag, base=self._base)
        return self._tell(full, data) or self._bus.fire_event(data, full)


class Site:
    def __init__(self, config_file):
        self.opts = salt.config.master_config(config_file)
        self._pillars = collections.OrderedDict()
        self._clients = {}
        self._job_caches = {}

    def run(self, request, tell):
        """`tell`: sends an event to the caller of a runner function, and says whether it did."""
        self._tell = tell
        return getattr(self, "do_" + request["kind"])(request)

    # What there is

    def do_find(self, request):
        """Which of these names Salt has, by kind."""
        return {kind: [name for name in names if self._has(kind, name)] for kind, names in request["names"].items()}

    def _has(self, kind, name):
        if kind in ("pillar", "renderers", "functions"):
            pillar = self._pillar({"id": self.opts["id"], "grains": {}})
            return name in {"pillar": pillar.ext_pillars, "renderers": pillar.rend}.get(kind, pillar.functions)
        if kind == "tops":
            opts = dict(self.opts, master_tops={name: {}})
            return name in salt.loader.tops(opts)
        if kind == "fileserver":
            return self._file_backend(name) is not None
        if kind == "sdb":
            return f"{name}.get" in salt.loader.sdb(self.opts, f"{name}.get")
        if kind == "auth":
            return f"{name}.auth" in salt.loader.auth(self.opts)
        if kind == "event_return":
            return f"{name}.event_return" in self._returners()
        if kind == "job_cache":
            return saltworks_job_cache.is_job_cache(self._returners(), name)
        if kind == "engines":
            return f"{name}.start" in salt.loader.engines(self.opts, {}, {}, {})
        if kind == "returner_module":
            return f"{name}.event_return" in self._returners() or saltworks_job_cache.is_job_cache(self._returners(), name)
        if kind == "outputters":
            return name in salt.loader.outputters(self.opts)
        if kind == "queues":
            return f"{name}.insert" in salt.loader.queues(self.opts)
        if kind == "caller":
            return name in self._minion_functions()
        try:
            functions = self._client(kind.split("_")[0]).functions
        except OSError as error:
            # A file of the site that this user cannot read hides the others of its kind.
            print(f"{kind} {name} cannot be looked for: {error}", file=sys.stderr)
            return False
        return any(fun.startswith(f"{name}.") for fun in functions) if kind.endswith("_module") else name in functions

    def do_sdb(self, request):
        """The value that `sdb://PROFILE/KEY` stands for."""
        return salt.utils.sdb.sdb_get(request["uri"], self.opts, strict=True)

    # Pillars

    def _pillar(self, request):
        """Salt's own environment of one pillar, kept for the next question about it. The next pillar of a minion gets fresh modules, as in Salt."""
        grains = dict(request["grains"], id=request["id"])
        key = request.get("pillar_key") or (request["id"], repr(grains))
        made = self._pillars.pop(key, None)
        if made is None:
            made = salt.pillar.Pillar(
                self.opts,
                grains,
                request["id"],
                request.get("saltenv"),
                pillarenv=request.get("pillarenv"),
                extra_minion_data=request.get("extra") or None,
            )
        self._pillars[key] = made
        while len(self._pillars) > PILLARS_KEPT:
            self._pillars.popitem(last=False)
        return made

    def do_pillar(self, request):
        pillar = self._pillar(request)
        name = request["name"]
        if name not in pillar.ext_pillars:
            raise KeyError(f"Salt has no source of this name, or cannot load it: {name}")
        given = request["pillar"]
        see(given, pillar.ext_pillars, pillar.functions)
        return pillar._external_pillar_data(given, request["arguments"], name)

    def do_render(self, request):
        """A whole file through its pipe of renderers."""
        pillar = self._pillar(request)
        opts = pillar.opts
        see(request.get("pillar") or {}, pillar.rend, pillar.functions)
        default, text = request.get("default") or opts["renderer"], request.get("text")
        return salt.template.compile_template(
            ":string:" if text is not None else request["path"],
            pillar.rend,
            default,
            request.get("blacklist", opts["renderer_blacklist"]),
            request.get("whitelist", opts["renderer_whitelist"]),
            request["environment"],
            request["sls"],
            input_data=text or "",
            **({"_pillar_rend": True} if request.get("is_pillar") else {}),
            **request["names"],
        )

    def do_function(self, request):
        """`salt[...]` of a template."""
        functions = self._pillar(request).functions
        name = request["fun"]
        if name not in functions:
            raise KeyError(f"{name} is not available")
        return functions[name](*request["args"], **request["kwargs"])

    # Runners

    def _client(self, kind):
        made = self._clients.get(kind)
        if made is None:
            made = salt.runner.RunnerClient(self.opts) if kind == "runner" else salt.wheel.WheelClient(self.opts)
            self._clients[kind] = made
        return made

    def do_call(self, request):
        """A runner or wheel function. Values that callers of Salt see: the returned one, and what the function printed."""
        fun, kind = request["fun"], request["caller"]
        functions = self._client(kind).functions
        if fun not in functions:
            missing = functions.missing_fun_string(fun)
            return {"is_missing": True, "why": missing}
        with salt.utils.event.get_event(
            "master", self.opts["sock_dir"], opts=self.opts, listen=False
        ) as event:
            named = CallEvents(event, request["tag"], self._tell)
            module = functions[fun].__globals__
            module.update(
                __jid__=request["jid"], __user__=request["user"], __tag__=request["tag"], __jid_event__=weakref.proxy(named)
            )
            try:
                if fun.startswith("queue."):
                    # Salt's master makes it at its start.
                    os.makedirs(self.opts["sqlite_queue_dir"], mode=0o700, exist_ok=True)
                return {"value": functions[fun](*request["args"], **request["kwargs"])}
            except TypeError as error:
                # As in Salt, whose callers then see how the function is used.
                return {"wrong_arguments": str(error), "doc": functions[fun].__doc__ or ""}

    def do_minion_function(self, request):
        """A function of minions on this machine, for reactions of the kind `caller`: Salt makes its minion of the master's own configuration, too."""
        made = self._clients.get("caller")
        if made is None:
            made = self._clients["caller"] = salt.client.Caller(self.opts["conf_file"])
        made.cmd(request["fun"], *request["args"], **request["kwargs"])

    def do_documentation(self, request):
        """Texts of all functions of a kind, by name."""
        functions = self._client(request["caller"]).functions
        return {name: functions[name].__doc__ or "" for name in functions}

    # The rest of the master

    def do_tops(self, request):
        opts = dict(self.opts, master_tops=request["tops"])
        tops = salt.loader.tops(opts)
        found = {}
        for name in request["tops"]:
            if name not in tops:
                raise KeyError(f"Salt has no source of this name, or cannot load it: {name}")
            states = tops[name](opts=request["opts"], grains=request["grains"]) or {}
            for saltenv, names in states.items():
                found.setdefault(saltenv, []).extend(names)
        return found

    def do_output(self, request):
        """A value as text, by an outputter; None if Salt has none of this name."""
        outputters = salt.loader.outputters(dict(self.opts, **request["opts"]))
        name = request["name"]
        return outputters[name](request["value"]) if name in outputters else None

    # Files

    def _file_servers(self):
        made = self._clients.get("fileserver")
        if made is None:
            others = [name for name in self.opts["fileserver_backend"] if name not in BUILT_FILE_SERVERS]
            made = salt.loader.fileserver(self.opts, others)
            self._clients["fileserver"] = made
        return made

    def _file_backend(self, name):
        """The backend's own name: as in Salt, a backend for `hg` may be called `hgfs`, too."""
        servers = self._file_servers()
        for known in (name, name + "fs", name[:-2] if name.endswith("fs") else name):
            if f"{known}.envs" in servers and f"{known}.find_file" in servers:
                return known
        return None

    def do_files(self, request):
        servers, name = self._file_servers(), self._file_backend(request["name"])
        if name is None:
            raise KeyError(f"Salt has no file server backend of this name, or cannot load it: {request['name']}")
        return getattr(self, "_files_" + request["action"])(servers, name, request)

    def _files_envs(self, servers, name, request):
        return list(servers[f"{name}.envs"]())

    def _files_update(self, servers, name, request):
        if f"{name}.update" in servers:
            servers[f"{name}.update"]()

    def _files_lists(self, servers, name, request):
        load = {"saltenv": request["saltenv"]}
        lists = {"files": "file_list", "dirs": "dir_list", "empty_dirs": "file_list_emptydirs", "links": "symlink_list"}
        return {
            kind: servers[f"{name}.{fun}"](dict(load)) for kind, fun in lists.items() if f"{name}.{fun}" in servers
        }

    def _files_find(self, servers, name, request):
        found = servers[f"{name}.find_file"](request["path"], request["saltenv"])
        path = found.get("path")
        return {"path": path, "rel": found.get("rel"), "is_local": os.path.isfile(path)} if path else None

    def _files_hash(self, servers, name, request):
        found = servers[f"{name}.find_file"](request["path"], request["saltenv"])
        load = {"path": request["path"], "saltenv": request["saltenv"]}
        return servers[f"{name}.file_hash"](load, found).get("hsum", "")

    def _files_read(self, servers, name, request):
        found = servers[f"{name}.find_file"](request["path"], request["saltenv"])
        load = {"path": request["path"], "saltenv": request["saltenv"], "loc": request["loc"]}
        return servers[f"{name}.serve_file"](load, found).get("data", b"")

    def do_login(self, request):
        """Whether the name and the password belong together, the user's groups, and the module's own permissions."""
        auth = salt.loader.auth(self.opts)
        load = {"username": request["username"], "password": request["password"], "eauth": request["eauth"]}

        def ask(part):
            fun = f"{request['eauth']}.{part}"
            if fun not in auth:
                return None
            call = salt.utils.args.format_call(
                auth[fun], load, expected_extra_kws=frozenset(["username", "password", "eauth", "token", "gather_job_timeout"])
            )
            return auth[fun](*call.get("args", []), **call.get("kwargs", {}))

        is_authentic = bool(ask("auth"))
        if not is_authentic:
            return {"is_authentic": False}
        return {"is_authentic": True, "groups": list(ask("groups") or []), "acl": ask("acl")}

    def _with_grains(self):
        """Salt's master loads returners and functions of minions with the grains of its machine."""
        made = self._clients.get("opts")
        if made is None:
            made = self._clients["opts"] = dict(self.opts)
            made["grains"] = salt.loader.grains(made)
        return made

    def _minion_functions(self):
        made = self._clients.get("minion")
        if made is None:
            opts = self._with_grains()
            made = self._clients["minion"] = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))
        return made

    def _returners(self):
        made = self._clients.get("returners")
        if made is None:
            made = salt.loader.returners(self._with_grains(), self._minion_functions())
            self._clients["returners"] = made
        return made

    def do_job_cache(self, request):
        name = request["name"]
        made = self._job_caches.get(name)
        if made is None:
            made = self._job_caches[name] = saltworks_job_cache.JobCache(self._with_grains(), self._returners(), name)
        return made.run(request)

    def do_event_return(self, request):
        name = f"{request['name']}.event_return"
        returners = self._returners()
        if name not in returners:
            raise KeyError(f"Salt has no such function, or cannot load it: {name}")
        events = [{"tag": event["tag"], "data": json.loads(event["json"])} for event in request["events"]]
        returners[name](events)
        return len(events)

    def do_synced(self, request):
        """Brings modules from the file roots to `extension_modules`, and forgets what was loaded."""
        self._pillars.clear()
        self._clients.clear()
        self._job_caches.clear()
        return os.path.isdir(self.opts["extension_modules"])

