"""A few made-up lines of every format of failure logs, by its name."""

from __future__ import annotations

SAMPLES = {
    "csv": "time,node\n5,0\n9,2\n",
    "lanl": "System,nodes,nodenumz,Prob Started (mm/dd/yy hh:mm),Prob Fixed (mm/dd/yy hh:mm),"
    "Down Time,Facilities,Hardware,Human Error,Network,Undetermined,Software\n"
    "2,4,1,1/2/2003 4:05,1/2/2003 4:15,10,,CPU,,,,\n",
    "fta": "# event_id component_id node_id platform_id node_name event_type"
    " event_start_time event_stop_time event_end_reason\n1 0 7 3 2.10 0 200 260 NULL\n",
    "bluegene-fatal": "2005-06-05-01.55.08.697467 R11-M0 RAS KERNEL FATAL rts panic!\n",
    "bluegene": "APPSEV 1117838570 2005.06.03 R1 2005-06-03-15.42.50.6 R1 RAS KERNEL INFO text\n",
    "mira": "event 1 00 2 FATAL Software_Error CNK 2013-04-10;01:02:03.5 2013-04-10;01:02:03 4 "
    "MIR R01-M1 text\n",
    "thunderbird": "ECC 1131566461 2005.11.09 tbird-admin1 Nov 9 12:01:01 local/tbird text\n",
    "hpc": "460903 node-1 boot_cmd new 1145552216 1 text\n",
    "titan": "SN,location,insert,remove,duration,out,event\n1,c2,,2016-01-01 00:00:01,,,DBE\n",
    "alpine": ",Timestamp,SSC,SSU,Enclosure,Slot,Rack id,Unique enclosure\n"
    "0,2019-01-04T19:00:00-0500,2,g,1,29,8,1\n",
    "campaign": "Timestamp,Action,Rack id,Unique enclosure,Slot\n"
    "2019-01-04T19:00:00,failed,8,1,2\n",
    "backblaze": "date,serial_number,model,failure\n2013-04-10,b,M,1\n2013-04-11,b,M,0\n",
    "m100": "node,day,boot_max\n3,2020-05-01,50\n3,2020-05-02,100.0\n3,2020-05-04,200\n",
}
WITHOUT = ("hpc",)
"""Formats that do not tell which records are failures."""
