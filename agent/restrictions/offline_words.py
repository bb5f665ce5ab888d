"""Whether a message says, in Chinese or English, that its task is to be done without going online.

Above: what the person's words forbid. What a program is to do without a network, and what stands in quotation marks or
in code, is what the message is about and not what it demands; where the two cannot be told apart, it demands.
"""

import re

_NOT_DEMANDED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{0,500}`|“[^”]{0,500}”|\"[^\"\n]{0,500}\"|「[^」]{0,500}」|『[^』]{0,500}』", re.DOTALL
)
# Words that join two demands part them as well as a comma does.
_PARTS = re.compile(
    r"[\n,;!?()。、]|\.(?=\s|$)|\.{2,}|\s--?\s|\b(?:(?<!nothing )but|and|then|please|so|also|just|kindly)\b"
)
_AROUND = " \t\r-*•·>#"
"""Blanks, and how an item of a list begins."""
_TO_SIMPLIFIED = str.maketrans(
    "無須聯網絡線離檔給資尋訪問瀏覽連僅別讀準許據開",
    "无须联网络线离档给资寻访问浏览连仅别读准许据开",
)

# Chinese: a prohibition, a few words, and the network, unless it is said of a program or speaks of a thing.
_NOT = (
    "(?<![需要用能该可])(?<!不是)(?<!程序|应用|游戏|软件|页面|网站|用户|系统|脚本)"
    "(?:不要|不用|不必|不需要?|无需|无须|勿|禁止|不许|不准|不得|严禁|不允许|没必要|[你请]不能"
    "|(?<![特分区类级识判个告差性])别)"
)
_FILLERS = (
    "(?:你|再|去|给我|擅自|自己|随便|随意|主动|通过|使用|利用|用|进行|任何|做|到|从|在|打开|调用|访问|连接|连|依赖"
    "|直接|帮我){0,3}"
)
_NETWORK = (
    "(?:联网|上网|连网|网上|网络|网路|外网|互联网|因特网|在线(?:搜|查|检索)|浏览网页|(?<=访问)网[页站]|网页搜索|网搜"
    r"|搜索引擎|百度|谷歌|google|internet|web(?=\s*(?:搜|search|检索|工具|$)))"
)
_A_THING = (
    "功能|模块|问题|故障|失败|错误|版|模式|游戏|对战|状态|情况|时|也|就[能可]|才|即可|库|编程|层|框架|图|接口|请求|名"
    "|权限|开关|按钮|提示|验证|激活|校验|同步|的|地图|网盘|云|字体|fonts|maps|延迟|异常|超时|中断|协议|安全|设置|配置"
)
_LOOK_UP = r"(?:搜索|搜寻|检索|搜|查资料)(?=\s*(?:$|直接|就行|就好|了|资料|信息|答案|教程|任何))"
_ONLY_LOCAL = (
    "(?:只|仅)(?:能|可以?|准|许|要|需要?|允许)?(?:使用|利用|用|看|读取?|参考|根据|基于|依据|查看?|凭).{0,8}?"
    "(?:本地|我(?:给|提供|发|上传|贴)|附件|上面|上述|现有|手头|(?:项目|目录|文件夹)[里内中])[^存储]{0,6}?"
    "(?:文件|资料|内容|代码|材料|信息|数据|文档|档案|东西)(?!存|储|保存|缓存|系统|库|作为|当|做)"
)
_OFFLINE = (
    "(?:^|请|全程|保持|必须|完全|只能?|仅)在?(?:离线|断网)(?:状态|模式|环境)?[下地来]?"
    "(?:完成|处理|工作|操作|进行|回答|作答|做|写|开发|解决|执行)(?![时的中也])|(?:全程|保持)(?:离线|断网)"
)
_CHINESE = re.compile(rf"{_NOT}\s*{_FILLERS}\s*(?:{_NETWORK}(?!\s*(?:{_A_THING}))|{_LOOK_UP})|{_ONLY_LOCAL}|{_OFFLINE}")

# English: what is demanded begins its part of the sentence; what is said of a program has a subject before it.
_WEB = (
    "(?:internet|web|network)"
    r"(?=\W*$|\s+(?:for|to|at|in|on|or|as|when|if|while|access|connection|search|tools?|here|this)\b)"
)
_GO_ONLINE = (
    "(?:go(?:ing)? online|(?:us|access|search|brows|surf|query|consult|reach|touch)(?:e|ing)? "
    rf"(?:for .{{1,30}} on )?(?:the |any )?{_WEB}|(?:search|look)(?:ing)?(?: \S+){{0,4}} (?:online|on the {_WEB})"
    rf"|connect(?:ing)? to (?:the |any )?{_WEB}|googl(?:e|ing)\b|brows(?:e|ing)$|web[ -]?search(?:es|ing)?)"
)
_GAVE = "(?:i|we)(?:'ve| have)? (?:just |already )?(?:gave|give|given|sent|provided?|attached|uploaded|pasted|shared)"
_HERE = (
    "(?:here|above|below|at hand|provided|attached|given"
    "|in (?:this|the|my) (?:project|folder|repo|directory|workspace))"
)
_FILES = "(?:files?|documents?|docs|sources?|materials?|data|information|info|code|text|content)"
_GIVEN = (
    rf"(?:the |my |these |those |this |your )?(?:(?:local|provided|attached|given|existing|uploaded) {_FILES}"
    rf"|{_FILES} (?:that |which )?(?:{_GAVE}|(?:are |is )?{_HERE})|what(?:ever)?(?: is|'s)? (?:{_GAVE}|{_HERE}))\b"
)
_LED_IN_BY = (
    r"(?:(?:rules?|note|important|constraints?|requirements?|ps): ?"
    "|you (?:should |must |may |can |are |have to |need to )?|(?:i|we) (?=do not want|don't want))?"
)
_NEVER = "(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|not|no need to|needn't|need not)"
_NONE_OF = "(?:internet|web|network|online)"
_DEMAND = re.compile(
    rf"{_LED_IN_BY}(?:{_NEVER}(?: \w+){{0,3}}? {_GO_ONLINE}|avoid (?:{_GO_ONLINE}|the {_WEB})"
    rf"|(?:use |with )?no {_NONE_OF}(?:(?:/| or ){_NONE_OF})?"
    "(?: access| search(?:es|ing)?| browsing| usage| use| lookups?)?$"
    r"|no (?:browsing|googling|web ?search(?:es|ing)?)\b"
    "|(?:(?:stay|remain|work|(?:do|keep|finish) (?:it|this|that|everything|all)|strictly|fully|completely) )?"
    "(?:only )?offline(?:[ -]only)?$"
    "|(?:only (?:use|read|look at|consult|rely on|work (?:with|from|on))|(?:use|read) only"
    "|(?:rely|work) only (?:on|with|from)|stick to|(?:limit|restrict) yourself to|use nothing (?:but|except)|only)"
    rf" {_GIVEN})"
)
_ANYWHERE = re.compile(
    rf"\bwithout (?:any )?(?:(?:search|brows)ing(?: online| (?:on )?(?:the )?{_WEB}|$)|googling|web (?:search|access))"
    rf"|\b(?:using|based|relying|drawing) only (?:on |from )?{_GIVEN}|\bnothing from the {_WEB}"
)
_UNLESS_OF_A_PROGRAM = re.compile(
    rf"\bwithout (?:{_GO_ONLINE}|(?:any |an |the )?(?:internet|network)(?: access| connection)?$)"
    r"|\boffline[ -]only$"
)
_OF_A_PROGRAM = re.compile(
    r"^(?:make|turn|set|mark|build|create|add|i|it|this|my|our|users|when|if|why|how|what)\b"
    r"|\b(?:works?|working|runs?|running|plays?|playable|usable|used|functions?|loads?|starts?|opens?|log ?in"
    r"|available|able|operates?|is|are|was|be|being|mode|supports?|goes|fails?|crash(?:es)?)\s*$"
)


def forbids_network(text: str) -> bool:
    """Whether `text`, folded by NFKC and case, demands that nobody goes online for it."""
    demands = _NOT_DEMANDED.sub(" _ ", text.replace("’", "'")).translate(_TO_SIMPLIFIED)
    return any(_demands_offline(part.strip(_AROUND)) for part in _PARTS.split(demands))


def _demands_offline(part: str) -> bool:
    if _CHINESE.search(part) or _DEMAND.match(part) or _ANYWHERE.search(part):
        return True
    found = _UNLESS_OF_A_PROGRAM.search(part)
    return found is not None and not _OF_A_PROGRAM.search(part[: found.start()])
