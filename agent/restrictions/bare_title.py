"""Whether a message is a bare title, as of an article, with no request in it.

Above: what the person's words forbid. A title that is not seen costs an answer that guesses; a request that is taken
for a title loses its tools. So whatever could be a request, a report of a fault, a question or an answer is no title.
"""

import re

_MOST_CHARACTERS = 220

_ADDRESS = re.compile(r"https?:|www\.|\w\.(?:com|cn|org|net|io|dev)\b")
_ASKS = re.compile(
    "请|帮(?!助)|麻烦|给我|替我|我要|我想|想要|希望|需要你|要求|能否|能不能|可否|可以帮|一下|[吧吗呢][。!?~]*$"
    r"|\b(?:please|pls|plz|help me|(?:can|could|would|will) you|i (?:want|need)|i'd like|we need|let's|let us"
    r"|you (?:should|must|can)|make sure|to-?do)\b"
)
# Where a clause begins, perhaps after a word or two; then what one does to code and files.
_BEGINS = (
    r"(?:^|[《【#:,.;!?。、()\-])\s*(?:先|再|然后|继续|马上|直接|重新|现在|顺便|and |then |now |just |also |so ){0,2}"
)
_CHINESE_VERBS = (
    "写|改|修|加|添|增|删|移|去掉|换|创建|新建|建|生成|实现|开发|做|搞|搭|运行|跑|执行|编译|测试|部署|安装|升级|更新"
    "|优化|重构|检查|查|看|分析|解释|说明|讲|总结|翻译|润色|读|打开|列|找|搜|对比|比较|转|提取|整理|继续|解决|排查|调"
    "|画|设|提交|推送|合并|回滚|备份|启动|停|重启|下载|上传|发|配置|接入|集成|迁移|替换|格式化|补|完善|处理|支持|用|把"
    "|将|让|给|在|进|回答|告诉|选|使|去|来|开始|试|清|归"
)
_ENGLISH_VERBS = (
    "add|analy[sz]e|answer|apply|append|ask|avoid|build|bump|call|change|check|chore|choose|ci|clean|clear|clone|commit"
    "|compare|compile|complete|configure|continue|convert|copy|correct|create|debug|delete|deploy|describe|design|do"
    "|docs?|document|download|draw|drop|edit|enable|disable|ensure|execute|explain|export|extract|feat|feature|fetch"
    "|find|finish|fix|format|generate|get|give|go|handle|hide|hotfix|implement|import|improve|init|insert|install"
    "|investigate|keep|launch|let|lint|list|load|look|make|merge|migrate|move|open|optimi[sz]e|parse|perf|pick|port"
    "|print|publish|pull|push|put|read|rebase|redo|refactor|release|reload|remove|rename|repair|replace|report|resolve"
    "|restart|retry|revert|review|rewrite|run|save|search|select|send|set|setup|show|simplify|solve|sort|split|start"
    "|stop|style|summari[sz]e|support|switch|take|tell|test|tests|tidy|translate|try|turn|undo|update|upgrade|upload"
    "|use|validate|verify|view|work|write|yes|no|ok|okay"
)
_TELLS_TO = re.compile(rf"{_BEGINS}(?:{_CHINESE_VERBS}|(?:{_ENGLISH_VERBS})\b)")

_WRAPPED = re.compile("《[^《》]{2,}》|【[^【】]{2,}】")
_HEADING = re.compile(r"#{1,6}\s+(?=.*[^\W\d]).{3,}")
_WITH_ANNEX = re.compile(r".{2,}\(附[^()]{0,40}(?:源码|代码|pdf|面试题|答案|资料)[^()]{0,20}\)")
_TWO_PARTS = re.compile(r"[^:]{2,48}:\s*\S.{3,179}")
# What headlines have, and names with their values or answers to a question have not.
_OF_HEADLINES = re.compile(
    "详解|解析|指南|实战|入门|教程|原理|揭秘|盘点|笔记|手册|攻略|从零|一文|深入|浅谈|进阶|精通|最佳实践|面试|全解|剖析"
    "|漫谈|之道|之路|一(?:个|款|种|套).{2,}的"
    r"|\b(?:guide|introduction|intro|tutorial|explained|deep dive|overview|handbook|primer|best practices|lessons"
    r"|in practice|from scratch|the art of|internals|walkthrough|cheat ?sheet|101|part \w+)\b"
)
_OF_FAULTS = re.compile(
    "错|异常|失败|崩|闪退|卡|无法|不能|没|无反应|不(?:显示|工作|对|行|了)|问题|慢|缺|丢"
    r"|bug|error|exception|traceback|fail|crash|broken|\bnot\b|n't|cannot|nothing|slow|missing|wrong|warning"
)
_OF_CODE = re.compile(r"[=;{}<>\\`|$@_~]|->|\w\.[a-z]{1,5}\b|/\w|\d:\d")


def is_bare_title(text: str) -> bool:
    """Whether `text`, folded by NFKC and case, is a title and nothing else: one line of at most 220 characters.

    That is `《…》` or `【…】` as a whole, a Markdown heading, what ends with `(附…源码)` and the like, or two parts
    with a colon between them as headlines have; with no request, no verb that begins a clause, and no web address.
    """
    line = text.strip()
    if len(line) > _MOST_CHARACTERS or "\n" in line:
        return False
    if _ADDRESS.search(line) or _ASKS.search(line) or _TELLS_TO.search(line):
        return False
    if _WRAPPED.fullmatch(line) or _WITH_ANNEX.fullmatch(line):
        return True
    return not line.endswith("?") and (_HEADING.fullmatch(line) is not None or _is_headline(line))


def _is_headline(line: str) -> bool:
    if not _TWO_PARTS.fullmatch(line) or not _OF_HEADLINES.search(line):
        return False
    return not _OF_FAULTS.search(line) and not _OF_CODE.search(line)
