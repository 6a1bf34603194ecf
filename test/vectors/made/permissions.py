"""Writes permissions.json: what Salt's own code decides by external_auth, publisher_acl and publisher_acl_blacklist.

Run with a Salt installation's Python: PYTHON permissions.py > permissions.json
Its fleet is three accepted keys in a temporary directory, so that targets mean what they mean in Salt.
"""

import json
import os
import sys
import tempfile

import salt.acl
import salt.config
import salt.utils.master
import salt.utils.minions
import salt.version

FLEET = ["web1", "web2", "db1"]
NAMED = {"__kwarg__": True}


def report(*words):
    """Where Salt itself stops with an exception, there is no decision to record."""
    print(*words, file=sys.stderr)


folder = tempfile.mkdtemp()
os.makedirs(os.path.join(folder, "pki", "minions"))
os.makedirs(os.path.join(folder, "cache", "minions"))
for minion in FLEET:
    with open(os.path.join(folder, "pki", "minions", minion), "w") as key:
        key.write("x")
opts = salt.config.master_config(os.path.join(folder, "master"))
opts.update(cachedir=os.path.join(folder, "cache"), pki_dir=os.path.join(folder, "pki"))
ck=salt.utils.minions.CkMinions(opts)
out={'salt':salt.version.__version__,'minions':FLEET,'publish':[],'call':[],'grants':[],'local':[],'blacklist':[]}
def pub(grants,fun,arg,tgt,kind='glob'):
    minions=ck.check_minions(tgt,kind)['minions']
    r=ck.auth_check(grants,fun,arg,tgt,kind,minions=minions,whitelist=['saltutil.find_job'])
    out['publish'].append(dict(grants=grants,fun=fun,arg=arg,tgt=tgt,minions=sorted(minions),granted=bool(r)))
G=[['.*'],['test.*'],['test.ping'],['@runner'],['@wheel','test.echo'],[],['^test'],['ping'],['test.(ping|echo)$'],['('],[5],[None],['*'],['test.*','cmd.run']]
for g in G:
    for f in ['test.ping','test.pingx','cmd.run','saltutil.find_job','sys.doc']:
        try: pub(g,f,[], '*')
        except Exception as e: report('EXC',g,f,repr(e))
for g in [[{'web*':['test.*']}],[{'web*':'test.*'}],[{'web1':['test.ping'],'db1':['.*']}],[{'web1':['test.*']},{'web2':['test.*']}],[{'L@web1,db1':['test.ping']}],[{'* and not db1':['test.*']}],[{'nosuch':['.*']}],[{'*':['test.ping']},'cmd.run'],[{'web[':['.*']}],[{'E@web[12]':['test.ping']}],[{'web*':[]}],[{'web*':None}]]:
    for t in ['*','web1','web*','db1','none*']:
        for f in ['test.ping','cmd.run']:
            try: pub(g,f,[],t)
            except Exception as e: report('EXC',g,t,f,repr(e))
def a(*args,**kw): return {'args':list(args),**({'kwargs':kw} if kw else {})}
conds=[{'test.echo':{'args':['hi.*']}},{'test.echo':{'args':[None,'b']}},{'test.echo':{'kwargs':{'text':'hi'}}},{'test.echo':{'args':['hi'],'kwargs':{'x':None}}},{'test.echo':[{'args':['a']},{'args':['b']}]},{'test.echo':{'args':['5']}},{'test.echo':{'args':['True|None']}},{'test.echo':{}},{'test.echo':[]},{'test.echo':'x'},{'test.*':{'args':["\\['a', 1\\]"]}},{'test.echo':{'args':[5]}},{'a':{},'b':{}},{'test.echo':{'args':["\\{'a': 1\\.5\\}"]}}]
argss=[[],['hi'],['hithere'],['a','b'],['x','b'],['b'],[5],[55],[True],[None],[['a',1]],[{'a':1.5}],['text=hi'],[{**NAMED,'text':'hi'}],['hi',{**NAMED,'x':1}],['hi',{**NAMED,'x':1,'y':2}],[{**NAMED,'text':5}]]
for c in conds:
    for ar in argss:
        try: pub([{'web*':[c]}],'test.echo',ar,'web1')
        except Exception as e: report('EXC',c,ar,repr(e))
        try: pub([c],'test.echo',ar,'web1')
        except Exception as e: report('EXC',c,ar,repr(e))
def call(grants,form,fun,args,kwargs):
    r=ck.spec_check(grants,fun,{'arg':args,'kwarg':kwargs},form)
    out['call'].append(dict(grants=grants,kind=form,fun=fun,args=args,kwargs=kwargs,decision='malformed' if isinstance(r,dict) else 'granted' if r else 'denied'))
for g in [['.*'],['@runner'],['@runners'],['@wheel'],['@wheels'],['@jobs'],['@key'],['@job'],[{'@runner':['jobs.*']}],[{'@runners':['jobs.list_job$']}],[{'@jobs':['list_.*']}],[{'@jobs':'active'}],[{'@wheel':['key.list_all',{'key.accept':{'kwargs':{'match':'web.*'}}}]}],[{'@key':[{'accept':{'args':['web.*']}}]}],[{'@runner':[{'jobs.lookup_jid':{'args':[None]}}]}],[],['@'],[{'@runner':['.*'],'@wheel':['.*']}],['@jobs','test.*']]:
    for form,fun,args,kw in [('runner','jobs.list_jobs',[],{}),('runner','jobs.list_job',['1'],{}),('runner','jobs.active',[],{}),('runner','manage.up',[],{}),('runner','jobs.lookup_jid',['1'],{}),('runner','jobs.lookup_jid',[],{'jid':'1'}),('wheel','key.list_all',[],{}),('wheel','key.accept',['web1'],{}),('wheel','key.accept',[],{'match':'web1'}),('wheel','key.accept',[],{'match':'db1'}),('wheel','jobs.active',[],{}),('runner','nodot',[],{}),('runner','a.b.c',[],{})]:
        try: call(g,form,fun,args,kw)
        except Exception as e: report('EXC',g,form,fun,repr(e))
def fill(prov,name,groups,perm):
    out['grants'].append(dict(backend=prov,name=name,groups=groups,permissive=perm,grants=ck.fill_auth_list(prov,name,groups,permissive=perm)))
P=[{'fred':['a'],'*':['star']},{'fre*':['a'],'*':['star']},{'fr.d':['a']},{'fred':['a'],'ops%':['g'],'*':['star']},{'ops%':['g'],'dev%':['h'],'ann':['n']},{'*':['star']},{'fred':['a'],'fre*':['b'],'*':['star']}]
for p in P:
    for n in ['fred','ann','fre*','.*','fr[e]d','*']:
        for g in [[],['ops'],['dev','ops']]:
            for perm in [False,True]:
                fill(p,n,g,perm)
for p in [{'fred':['a'],'fre*':['b'],'fr.d':['c'],'.*':['d'],'ann':['n'],'f(':['z']},{'root':['a']}]:
    for n in ['fred','ann','fre','x','fredx']:
        out['local'].append(dict(acl=p,user=n,grants=salt.utils.master.get_values_of_matching_keys(p,n)))
for b in [{},{'users':['fred','ro.t','sudo_*'],'modules':['cmd.*','file.remove']},{'modules':['cmd\\.(run|shell)']},{'users':['fre']}]:
    acl=salt.acl.PublisherACL(b)
    for u in ['fred','root','sudo_ann','ann']:
        for f in ['cmd.run','test.ping',['test.ping','cmd.run'],'file.remove','file.removex','cmd.script']:
            out['blacklist'].append(dict(blacklist=b,user=u,fun=f,refused=acl.user_is_blacklisted(u) or acl.cmd_is_blacklisted(f)))

names=set()
for r in out['publish']:
    for g in r['grants']:
        if isinstance(g,dict): names.update(g)
out['targets']={n: sorted(ck.check_minions(n,'compound')['minions']) for n in sorted(names)}
def dump(k,v):
    if isinstance(v,list): 
        return json.dumps(k)+': [\n'+',\n'.join(json.dumps(x) for x in v)+'\n]'
    return json.dumps(k)+': '+json.dumps(v)
sys.stdout.write('{\n'+',\n'.join(dump(k,v) for k,v in out.items())+'\n}\n')
